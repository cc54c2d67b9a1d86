/** Restates algorithms/bucket.ts. State: last, level, given. */
export const bucket = `
function makers.bucket()
  local function level(p, s, at)
    local elapsed = at - s[1]
    if elapsed <= 0 then return s[2] end
    local level = s[2] - elapsed * p.drain
    return level > 0 and level or 0
  end

  local function topOf(p, s, at, since, mark, given)
    local givenSince = s[3] - given
    if givenSince < 0 or s[3] == maxSafe then return 0 end
    return mark - givenSince * p.weight - max(0, at - since) * p.drain
  end

  local bucket = {}

  function bucket.define(p, burst, weight, drain)
    p.slots, p.burst, p.weight, p.drain, p.capacity = 3, burst, weight, drain, burst * weight
    p.span = ceil(p.capacity / drain)
  end

  function bucket.wait(p, s, at, cost)
    if cost > p.burst then return never end
    local excess = level(p, s, at) - (p.capacity - cost * p.weight)
    if excess <= 0 then return 0 end
    return ceil(excess / p.drain)
  end

  function bucket.fits(p, s, at, cost)
    return level(p, s, at) + cost * p.weight <= maxSafe
  end

  function bucket.take(p, s, at, cost)
    s[2] = level(p, s, at) + cost * p.weight
    s[1] = at
  end

  function bucket.count(p, s, at, cost)
    local now = level(p, s, at)
    local brim = p.capacity
    if cost <= p.burst then brim = min(p.capacity, now + cost * p.weight) end
    s[2] = max(now, brim)
    s[1] = at
  end

  function bucket.refund(p, s, at, cost, since, mark, given)
    local now = level(p, s, at)
    local top, promised = now, 0
    if since then top, promised = topOf(p, s, at, since, mark, given), max(0, now - p.capacity) end
    local back = min(now, cost * p.weight, max(0, top - promised))
    if not since or top < now then s[3] = min(maxSafe, s[3] + ceil(back / p.weight)) end
    s[2] = now - back
    s[1] = at
  end

  function bucket.ticket(p, s)
    return s[1], s[2], s[3]
  end

  function bucket.report(p, s, at)
    local now = level(p, s, at)
    local room = p.capacity - now
    return room > 0 and floor(room / p.weight) or 0, ceil(now / p.drain)
  end

  function bucket.adopt(p, s, at, from)
    if from.kind ~= p.kind then return false end
    local now = level(from, s, at)
    local units = ratioUp(now, p.weight, from.weight)
    local booked = ceil(max(0, now - from.capacity) / from.drain)
    local ahead = booked == 0 and 0 or p.capacity + booked * p.drain
    s[2] = min(maxSafe, max(units, ahead))
    s[1] = at
    return true
  end

  function bucket.carry(p, s, at, from, times, per)
    if from.kind ~= p.kind then return false end
    local now = ratioUp(level(from, s, at), times, per)
    s[2] = now < maxSafe and min(p.capacity, ratioUp(now, p.weight, from.weight)) or p.capacity
    s[3] = min(maxSafe, s[3] + ceil(from.capacity / p.weight))
    s[1] = at
    return true
  end

  return bucket
end
`
