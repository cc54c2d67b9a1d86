/**
 * The Lua version of algorithms/windows/sliding-window.ts. The numbers of a state: the time of the last commit, the start of the current
 * window, the units of the current and of the previous window, the id of the open reservations.
 */
export const slidingWindow = `
function makers.slidingWindow()
  local fadingWait, fadeTime, startAt, currentAt, previousAt
  local window = { numberFormat = false }

  function window.define(p, span, limit)
    p.slots, p.idSlot, p.idCountsRefunds, p.span, p.limit = 5, 5, true, span, limit
  end

  function window.wait(p, s, at, cost)
    local start = startAt(p, s, at)
    local current = currentAt(p, s, start)
    local previous = previousAt(p, s, start)
    local spare = p.limit - cost - current
    return spare >= previous and 0 or fadingWait(p, start, current, previous, spare, at)
  end

  function fadingWait(p, start, current, previous, spare, at)
    if spare >= previous - mulDiv(previous, at - start, p.span) then return 0 end
    if spare >= 0 then return start + fadeTime(p, previous, previous - spare) - at end
    if spare < -current then return never end
    return start + p.span + fadeTime(p, current, -spare) - at
  end

  function fadeTime(p, count, units)
    return p.span - mulDiv(p.span, count - units, count)
  end

  function startAt(p, s, at)
    local start = s[2]
    local elapsed = at - start
    return elapsed >= 0 and elapsed < p.span and start or at - at % p.span
  end

  function currentAt(p, s, start)
    return start <= s[2] and s[3] or 0
  end

  function previousAt(p, s, start)
    local elapsed = start - s[2]
    if elapsed <= 0 then return s[4] end
    return elapsed == p.span and s[3] or 0
  end

  function window.take(p, s, at, cost)
    if at < s[1] then s[5] = 0 end
    local start = startAt(p, s, at)
    if start ~= s[2] then
      local current = currentAt(p, s, start)
      s[4] = previousAt(p, s, start)
      s[3] = current
      s[2] = start
    end
    s[3] = s[3] + cost
    s[1] = at
  end

  function window.staysTaken(p, s, at)
    return s[2] + p.span - at
  end

  function window.report(p, s, at)
    local start = startAt(p, s, at)
    local current = currentAt(p, s, start)
    local previous = previousAt(p, s, start)
    local faded = previous == 0 and 0 or mulDiv(previous, at - start, p.span)
    local toNextWindow = start + p.span - at
    local used = current + (previous - faded)
    return max(0, p.limit - used), current > 0 and toNextWindow + p.span or previous > 0 and toNextWindow or 0, used
  end

  return lazily(window, function()
    local endDebt

    function window.fits(p, s, at, cost)
      return currentAt(p, s, startAt(p, s, at)) + cost <= maxFactor
    end

    function window.count(p, s, at, cost)
      window.take(p, s, at, min(cost, maxFactor - currentAt(p, s, startAt(p, s, at))))
    end

    function window.refund(p, s, at, cost)
      window.take(p, s, at, 0)
      local fromCurrent = min(cost, s[3])
      s[3] = s[3] - fromCurrent
      s[4] = max(0, s[4] - (cost - fromCurrent))
    end

    function window.bookedAt(p, s)
      return s[2]
    end

    function window.settle(p, s, at, units, since)
      window.take(p, s, at, 0)
      local age = (s[2] - since) / p.span
      if age == 0 then s[3] = max(0, s[3] - units) end
      if age == 1 then s[4] = max(0, s[4] - units) end
    end

    function window.continues(p, from)
      return from.kind == p.kind and from.span == p.span
    end

    function window.carry(p, s, at, _, times, per)
      window.take(p, s, at, 0)
      s[3] = min(maxFactor, ratioUp(s[3], times, per))
      s[4] = min(maxFactor, ratioUp(s[4], times, per))
      if times ~= per then s[5] = 0 end
      endDebt(p, s, at)
    end

    function endDebt(p, s, at)
      local start, current, previous = s[2], s[3], s[4]
      local left = p.span - (at - start)
      if current + (previous - mulDiv(previous, at - start, p.span)) <= p.limit then return end
      s[3] = min(p.limit, current)
      s[4] = min(previous, ratioDown(p.limit - s[3], p.span, left))
    end

    function window.scaledWait(p, s, at, cost, capacity)
      local start = startAt(p, s, at)
      local current = min(maxFactor, ratioUp(currentAt(p, s, start), capacity, p.limit))
      local previous = min(maxFactor, ratioUp(previousAt(p, s, start), capacity, p.limit))
      return fadingWait(p, start, current, previous, capacity - cost - current, at)
    end
  end)
end
`
