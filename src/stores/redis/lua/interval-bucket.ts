/** Restates algorithms/interval-bucket.ts. State: last, spent, start, given. */
export const intervalBucket = `
function makers.intervalBucket()
  local function startOf(p, s, at)
    local last, start = s[1], s[3]
    if at < last then
      if p.aligned then return at - at % p.window end
      return start - (last - at)
    end
    local elapsed = at - start
    if elapsed < p.window then return start end
    return start + floor(elapsed / p.window) * p.window
  end

  local function spentAt(p, s, start)
    local elapsed = start - s[3]
    if elapsed <= 0 then return s[2] end
    return max(0, s[2] - (elapsed / p.window) * p.limit)
  end

  local function booked(p, spent, cost, delay)
    local refills = 0
    if delay > 0 then refills = ceil((spent + cost - p.burst) / p.limit) end
    return max(spent, refills * p.limit) + cost
  end

  local function opens(p, at)
    if p.aligned then return at - at % p.window end
    return at
  end

  local function topOf(p, s, start, since, mark, given)
    local givenSince = s[4] - given
    if givenSince < 0 or s[4] == maxSafe then return 0 end
    return mark - givenSince - ceil(max(0, start - since) / p.window) * p.limit
  end

  local function sameWindows(p, from)
    return from.kind == p.kind and from.window == p.window and from.aligned == p.aligned
  end

  local intervalBucket = {}

  function intervalBucket.define(p, limit, window, burst, aligned)
    p.slots, p.limit, p.window, p.burst, p.aligned = 4, limit, window, burst, aligned == 1
    p.most = min(maxSafe, limit * floor(4503599627370496 / window))
    p.span = ceil(burst / limit) * window
  end

  function intervalBucket.wait(p, s, at, cost)
    if cost > p.burst then return never end
    local start = startOf(p, s, at)
    local short = spentAt(p, s, start) - (p.burst - cost)
    if short <= 0 then return 0 end
    return start + ceil(short / p.limit) * p.window - at
  end

  function intervalBucket.fits(p, s, at, cost, delay)
    return booked(p, spentAt(p, s, startOf(p, s, at)), cost, delay) <= p.most
  end

  function intervalBucket.take(p, s, at, cost, delay)
    local start = startOf(p, s, at)
    local spent = spentAt(p, s, start)
    s[2] = booked(p, spent, cost, delay)
    s[3] = spent > 0 and start or opens(p, at)
    s[1] = at
  end

  function intervalBucket.count(p, s, at, cost)
    local start = startOf(p, s, at)
    local spent = spentAt(p, s, start)
    s[2] = max(spent, cost > p.burst and p.burst or min(p.burst, spent + cost))
    s[3] = spent > 0 and start or opens(p, at)
    s[1] = at
  end

  function intervalBucket.refund(p, s, at, cost, since, mark, given)
    local start = startOf(p, s, at)
    local spent = spentAt(p, s, start)
    local top, promised = spent, 0
    if since then
      top = topOf(p, s, start, since, mark, given)
      promised = ceil(max(0, spent - p.burst) / p.limit) * p.limit
    end
    local back = min(spent, cost, max(0, top - promised))
    if not since or top < spent then s[4] = min(maxSafe, s[4] + back) end
    s[3] = start
    s[2] = spent - back
    s[1] = at
  end

  function intervalBucket.ticket(p, s)
    return s[3], s[2], s[4]
  end

  function intervalBucket.report(p, s, at)
    local start = startOf(p, s, at)
    local spent = spentAt(p, s, start)
    return max(0, p.burst - spent), spent == 0 and 0 or start + ceil(spent / p.limit) * p.window - at
  end

  function intervalBucket.adopt(p, s, at, from)
    if not sameWindows(p, from) then return false end
    local start = startOf(from, s, at)
    local spent = spentAt(from, s, start)
    local booked = ceil(max(0, spent - from.burst) / from.limit)
    s[2] = min(p.most, spent + booked * max(0, p.limit - from.limit))
    s[3] = start
    s[1] = at
    return true
  end

  function intervalBucket.carry(p, s, at, from, times, per)
    if not sameWindows(p, from) then return false end
    local start = startOf(from, s, at)
    s[2] = min(p.burst, ratioUp(spentAt(from, s, start), times, per))
    s[3] = start
    s[4] = min(maxSafe, s[4] + from.burst)
    s[1] = at
    return true
  end

  return intervalBucket
end
`
