/** Restates algorithms/carry.ts and revive.ts: a state whose definition is another than that of its policy now. */
export const carry = `
function makers.carry()
  make('ratio')

  local function isNew(s, slots)
    for n = 1, slots do
      if s[n] ~= 0 then return false end
    end
    return true
  end

  local function capacity(p)
    return (p.algorithm.report(p, new(p), 0))
  end

  function carried(p, from, s, now)
    if p.forgets or isNew(s, from.slots) then return new(p) end
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

  -- A number of a definition: 7 bits a byte, the lowest first; 128 and 0 stand before one that is no whole number.
  local function decoded(definition, at)
    local value, weight = 0, 1
    if byte(definition, at) == 128 and byte(definition, at + 1) == 0 then return unpack('<d', definition, at + 2) end
    while byte(definition, at) >= 128 do
      value = value + (byte(definition, at) - 128) * weight
      weight, at = weight * 128, at + 1
    end
    return value + byte(definition, at) * weight, at + 1
  end

  -- The numbers of each definition that was met.
  local known = {}

  function revived(definition)
    local from = known[definition]
    if from == nil then
      local numbers, at = {}, 2
      while at <= #definition do numbers[#numbers + 1], at = decoded(definition, at) end
      from = revive({}, byte(definition), spread(numbers))
      known[definition] = from
    end
    return from
  end
end
`
