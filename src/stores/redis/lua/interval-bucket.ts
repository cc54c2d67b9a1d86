/** Restates algorithms/interval-bucket.ts. State: last, spent, start, given. */
export const intervalBucket = `
function makers.intervalBucket()
  local startAt, spentAt, spentAfter, opensAt, topAt, sameWindows
  local interval = {}

  function interval.define(p, limit, window, burst, aligned)
    p.slots, p.limit, p.window, p.burst, p.aligned = 4, limit, window, burst, aligned == 1
    p.most = min(maxSafe, limit * floor(4503599627370496 / window))
    p.span = ceil(burst / limit) * window
  end

  function interval.wait(p, s, at, cost)
    local start = startAt(p, s, at)
    local short = spentAt(p, s, start) - (p.burst - cost)
    if short <= 0 then return 0 end
    return cost > p.burst and never or start + ceil(short / p.limit) * p.window - at
  end

  function startAt(p, s, at)
    local last, start = s[1], s[3]
    if at < last then return p.aligned and at - at % p.window or start - (last - at) end
    local elapsed = at - start
    return elapsed < p.window and start or start + floor(elapsed / p.window) * p.window
  end

  function spentAt(p, s, start)
    local spent = s[2]
    local elapsed = start - s[3]
    return elapsed <= 0 and spent or max(0, spent - (elapsed / p.window) * p.limit)
  end

  function interval.fits(p, s, at, cost, delay)
    return spentAfter(p, spentAt(p, s, startAt(p, s, at)), cost, delay) <= p.most
  end

  function spentAfter(p, spent, cost, delay)
    local refills = delay > 0 and ceil((spent + cost - p.burst) / p.limit) or 0
    return max(spent, refills * p.limit) + cost
  end

  function interval.take(p, s, at, cost, delay)
    local start = startAt(p, s, at)
    local spent = spentAt(p, s, start)
    s[2] = spentAfter(p, spent, cost, delay)
    s[3] = spent > 0 and start or opensAt(p, at)
    s[1] = at
  end

  function opensAt(p, at)
    return p.aligned and at - at % p.window or at
  end

  function interval.count(p, s, at, cost)
    local start = startAt(p, s, at)
    local spent = spentAt(p, s, start)
    s[2] = max(spent, cost > p.burst and p.burst or min(p.burst, spent + cost))
    s[3] = spent > 0 and start or opensAt(p, at)
    s[1] = at
  end

  function interval.refund(p, s, at, cost, since, mark, given)
    local start = startAt(p, s, at)
    local spent = spentAt(p, s, start)
    local top = since and topAt(p, s, start, since, mark, given) or spent
    local promised = since and ceil(max(0, spent - p.burst) / p.limit) * p.limit or 0
    local back = min(spent, cost, max(0, top - promised))
    if not since or top < spent then s[4] = min(maxSafe, s[4] + back) end
    s[3] = start
    s[2] = spent - back
    s[1] = at
  end

  function topAt(p, s, start, since, mark, given)
    local givenSince = s[4] - given
    if givenSince < 0 or s[4] == maxSafe then return 0 end
    return mark - givenSince - ceil(max(0, start - since) / p.window) * p.limit
  end

  function interval.ticket(p, s)
    return s[3], s[2], s[4]
  end

  function interval.report(p, s, at)
    local start = startAt(p, s, at)
    local spent = spentAt(p, s, start)
    return max(0, p.burst - spent), spent == 0 and 0 or start + ceil(spent / p.limit) * p.window - at
  end

  function interval.adopt(p, s, at, from)
    if not sameWindows(p, from) then return false end
    local start = startAt(from, s, at)
    local spent = spentAt(from, s, start)
    local booked = ceil(max(0, spent - from.burst) / from.limit)
    s[2] = min(p.most, spent + booked * max(0, p.limit - from.limit))
    s[3] = start
    s[1] = at
    return true
  end

  function sameWindows(p, from)
    return from.kind == p.kind and from.window == p.window and from.aligned == p.aligned
  end

  function interval.carry(p, s, at, from, times, per)
    if not sameWindows(p, from) then return false end
    local start = startAt(from, s, at)
    s[2] = min(p.burst, ratioUp(spentAt(from, s, start), times, per))
    s[3] = start
    s[4] = min(maxSafe, s[4] + from.burst)
    s[1] = at
    return true
  end

  return interval
end
`
