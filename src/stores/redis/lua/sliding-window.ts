/** Restates algorithms/sliding-window.ts. State: last, start, current, previous. */
export const slidingWindow = `
function makers.slidingWindow()
  local function startOf(p, s, at)
    local elapsed = at - s[2]
    if elapsed >= 0 and elapsed < p.span then return s[2] end
    return at - at % p.span
  end

  local function currentAt(p, s, start)
    if start <= s[2] then return s[3] end
    return 0
  end

  local function previousAt(p, s, start)
    local windows = start - s[2]
    if windows <= 0 then return s[4] end
    if windows == p.span then return s[3] end
    return 0
  end

  local function faded(p, held, units)
    return p.span - mulDiv(p.span, held - units, held)
  end

  local window = {}

  function window.define(p, span, limit)
    p.slots, p.span, p.limit = 4, span, limit
  end

  function window.wait(p, s, at, cost)
    if cost > p.limit then return never end
    local start = startOf(p, s, at)
    local current = currentAt(p, s, start)
    local previous = previousAt(p, s, start)
    local room = p.limit - cost - current
    if room >= previous - mulDiv(previous, at - start, p.span) then return 0 end
    if room >= 0 then return start + faded(p, previous, previous - room) - at end
    return start + p.span + faded(p, current, -room) - at
  end

  function window.fits(p, s, at, cost)
    return currentAt(p, s, startOf(p, s, at)) + cost <= maxFactor
  end

  function window.take(p, s, at, cost)
    local start = startOf(p, s, at)
    local current = currentAt(p, s, start)
    s[4] = previousAt(p, s, start)
    s[3] = current + cost
    s[2] = start
    s[1] = at
  end

  function window.count(p, s, at, cost)
    window.take(p, s, at, min(cost, maxFactor - currentAt(p, s, startOf(p, s, at))))
  end

  function window.refund(p, s, at, cost, since)
    window.take(p, s, at, 0)
    local age = since and (s[2] - since) / p.span or 0
    local fromCurrent = age <= 0 and min(cost, s[3]) or 0
    s[3] = s[3] - fromCurrent
    local further = cost > fromCurrent
    if since then further = age == 1 end
    if further then s[4] = max(0, s[4] - (cost - fromCurrent)) end
  end

  function window.ticket(p, s)
    return s[2], 0, 0
  end

  function window.report(p, s, at)
    local start = startOf(p, s, at)
    local current = currentAt(p, s, start)
    local previous = previousAt(p, s, start)
    local gone = mulDiv(previous, at - start, p.span)
    local toWindow = start + p.span - at
    local reset = 0
    if current > 0 then reset = toWindow + p.span elseif previous > 0 then reset = toWindow end
    return max(0, p.limit - current - (previous - gone)), reset
  end

  function window.carry(p, s, at, from, times, per)
    if from.kind ~= p.kind or from.span ~= p.span then return false end
    window.take(p, s, at, 0)
    s[3] = min(p.limit, ratioUp(s[3], times, per))
    s[4] = min(p.limit, ratioUp(s[4], times, per))
    return true
  end

  return window
end
`
