/** The Lua version of algorithms/carry.ts and kinds.ts: converts a stored state whose kind or numbers are not those of its policy. */
export const carry = `
function makers.carry()
  make('ratioUp')

  local function isNew(s, slots)
    for n = 1, slots do
      if s[n] ~= 0 then return false end
    end
    return true
  end

  local function remainingOf(p, s, at)
    local remaining = p.algorithm.report(p, s, at)
    return remaining
  end

  local function capacity(p)
    return remainingOf(p, newState(p), 0)
  end

  local function hasFullQuota(from, s, now)
    local _, reset = from.algorithm.report(from, s, effectiveTime(from, s[1], now))
    return reset == 0 and now >= s[1]
  end

  local function scales(from, p)
    if not p.scales or (from.leases and p.leases) then return false end
    return max(capacity(from), capacity(p)) <= maxFactor
  end

  function carry(p, from, s, now)
    local most, whole = capacity(p), capacity(from)
    if most == 0 or isNew(s, from.slots) then return newState(p) end
    local at = effectiveTime(from, s[1], now)
    local adopt = p.algorithm.adopt
    if p.retunes and adopt and adopt(p, s, at, from) then return s end
    if hasFullQuota(from, s, now) then return newState(p) end
    local times, per = 1, 1
    if scales(from, p) then times, per = most, whole end
    if p.algorithm.continues(p, from) then
      p.algorithm.carry(p, s, at, from, times, per)
      return s
    end
    local used = min(most, ratioUp(whole - remainingOf(from, s, at), times, per))
    local fresh = newState(p)
    if used > 0 then p.algorithm.take(p, fresh, at, used, 0) end
    return fresh
  end

  -- Returns the wait by the foreign state. @param own the wait by the copy that was converted to the policy \`p\`
  function waitCarried(p, foreign, cost, own)
    if own == never or p.punishes then return own end
    local from, s = foreign.policy, foreign.s
    local at = effectiveTime(from, s[1], now)
    local most, whole = capacity(p), capacity(from)
    local scaled = scales(from, p)
    if not scaled or not p.algorithm.continues(p, from) then
      local left = p.paysLater and whole or scaled and ratioUp(cost, whole, most) or whole - most + cost
      return from.algorithm.wait(from, s, at, left) + (at - now)
    end
    local scaledWait = from.algorithm.scaledWait
    return scaledWait and scaledWait(from, s, at, cost, most) + (at - now) or own
  end

  -- Returns the reset of the foreign state. @param own the reset of the copy that was converted to the policy \`p\`
  function resetCarried(p, foreign, own)
    if capacity(p) == 0 then return own end
    local from, s = foreign.policy, foreign.s
    local at = effectiveTime(from, s[1], now)
    local _, reset = from.algorithm.report(from, s, at)
    return reset + (at - now)
  end

  -- Reads a number of a definition: 7 bits per byte, the lowest bits first. A fraction is stored as 128, 0 and a double.
  local function unpackNumber(definition, position)
    local value, weight = 0, 1
    if byte(definition, position) == 128 and byte(definition, position + 1) == 0 then
      return unpack('<d', definition, position + 2)
    end
    while byte(definition, position) >= 128 do
      value = value + (byte(definition, position) - 128) * weight
      weight, position = weight * 128, position + 1
    end
    return value + byte(definition, position) * weight, position + 1
  end

  local revivedBy = {}

  -- Makes a policy with this definition, to read states of this definition. Returns false for an unknown kind.
  function revive(definition)
    local from = revivedBy[definition]
    if from == nil then
      local known, numbers, position = kinds[byte(definition)], {}, 2
      while known and position <= #definition do numbers[#numbers + 1], position = unpackNumber(definition, position) end
      from = define({}, byte(definition), spread(numbers))
      revivedBy[definition] = from
    end
    return from
  end
end
`
