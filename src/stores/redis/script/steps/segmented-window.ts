/**
 * The Lua version of algorithms/windows/segmented-window.ts. The numbers of a state: the time of the last commit, the index of the
 * newest segment, its counter, the counters of the older segments, and the id of the open reservations.
 */
export const segmentedWindow = `
function makers.segmentedWindow()
  local ageAt, untilLeft, usedAt
  local window = {}

  function window.define(p, span, limit, segments)
    p.slots, p.idSlot, p.idCountsRefunds = 4 + segments, 4 + segments, true
    p.span, p.limit, p.segments, p.width = span, limit, segments, ceil(span / segments)
  end

  function window.wait(p, s, at, cost)
    if cost > p.limit then return never end
    local age = ageAt(p, s, at)
    local over = usedAt(p, s, age) + cost - p.limit
    if over <= 0 then return 0 end
    local n = p.segments - age
    while over > s[3 + n] do
      over = over - s[3 + n]
      n = n - 1
    end
    return untilLeft(p, n, age, at)
  end

  function ageAt(p, s, at)
    return at < s[1] and 0 or floor(at / p.width) - s[2]
  end

  function untilLeft(p, n, age, at)
    return (floor(at / p.width) - age - n + p.segments + 1) * p.width - at
  end

  function usedAt(p, s, age)
    local used = 0
    for n = p.segments - age, 0, -1 do used = used + s[3 + n] end
    return used
  end

  function window.take(p, s, at, cost)
    if at < s[1] then s[p.idSlot] = 0 end
    local age = ageAt(p, s, at)
    if age > 0 then
      for n = p.segments, 0, -1 do s[3 + n] = n >= age and s[3 + n - age] or 0 end
    end
    s[3] = s[3] + cost
    s[2] = floor(at / p.width)
    s[1] = at
  end

  function window.count(p, s, at, cost)
    local spare = floor(maxSafe / 2) - usedAt(p, s, ageAt(p, s, at))
    window.take(p, s, at, max(0, min(cost, spare)))
  end

  function window.refund(p, s, at, cost)
    window.take(p, s, at, 0)
    local n = 0
    while n <= p.segments and cost > 0 do
      local back = min(cost, s[3 + n])
      s[3 + n] = s[3 + n] - back
      cost = cost - back
      n = n + 1
    end
  end

  function window.bookedAt(p, s)
    return s[2]
  end

  function window.settle(p, s, at, units, since)
    window.take(p, s, at, 0)
    local n = s[2] - since
    if n >= 0 and n <= p.segments then s[3 + n] = max(0, s[3 + n] - units) end
  end

  function window.staysTaken(p, s, at)
    return (s[2] + 1) * p.width - at
  end

  function window.report(p, s, at)
    local age = ageAt(p, s, at)
    local used = usedAt(p, s, age)
    local newest = 0
    while newest <= p.segments - age and s[3 + newest] == 0 do newest = newest + 1 end
    return max(0, p.limit - used), used == 0 and 0 or untilLeft(p, newest, age, at), used
  end

  function window.continues(p, from)
    return from.kind == p.kind and from.span == p.span and from.segments == p.segments
  end

  function window.carry(p, s, at, _, times, per)
    window.take(p, s, at, 0)
    if times ~= per then s[p.idSlot] = 0 end
    local left = p.limit
    for n = 0, p.segments do
      s[3 + n] = min(left, ratioUp(s[3 + n], times, per))
      left = left - s[3 + n]
    end
  end

  return withDefaults(window)
end
`
