/** Restates algorithms/carry.ts: the state of a record whose definition is another than that of its policy now. */
export const carry = `
local function isNew(s, slots)
  for n = 1, slots do
    if s[n] ~= 0 then return false end
  end
  return true
end

local function capacity(p)
  return (p.algorithm.report(p, new(p), 0))
end

function carried(p, definition, value, start, length, now)
  local from = {}
  if p.forgets or not define(from, cmsgpack.unpack(definition)) then return new(p) end
  local s = load(from, value, start, length)
  if isNew(s, from.slots) then return new(p) end
  local at = standing(from, s[1], now)
  local adopt = p.algorithm.adopt
  if p.retunes and adopt and adopt(p, s, at, from) then return s end
  local most, whole, times, per = capacity(p), capacity(from), 1, 1
  if p.scales then times, per = most, whole end
  if p.algorithm.carry(p, s, at, from, times, per) then return s end
  local used = min(most, ratioUp(whole - from.algorithm.report(from, s, at), times, per))
  local fresh = new(p)
  if used > 0 then p.algorithm.take(p, fresh, at, used, 0) end
  return fresh
end
`
