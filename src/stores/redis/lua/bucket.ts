/** Restates algorithms/bucket.ts. State: last, level, given. */
export const bucket = `
function makers.bucket()
  local levelAt, topAt
  local bucket = {}

  function bucket.define(p, burst, weight, drain)
    p.slots, p.burst, p.weight, p.drain, p.capacity = 3, burst, weight, drain, burst * weight
    p.span = ceil(p.capacity / drain)
  end

  function bucket.wait(p, s, at, cost)
    local excess = levelAt(p, s, at) - (p.capacity - cost * p.weight)
    if excess <= 0 then return 0 end
    return cost > p.burst and never or ceil(excess / p.drain)
  end

  function levelAt(p, s, at)
    local level = s[2]
    local elapsed = at - s[1]
    if elapsed <= 0 then return level end
    level = level - elapsed * p.drain
    return level > 0 and level or 0
  end

  function bucket.fits(p, s, at, cost)
    return levelAt(p, s, at) + cost * p.weight <= maxSafe
  end

  function bucket.take(p, s, at, cost)
    s[2] = levelAt(p, s, at) + cost * p.weight
    s[1] = at
  end

  function bucket.count(p, s, at, cost)
    local level = levelAt(p, s, at)
    local filled = cost > p.burst and p.capacity or min(p.capacity, level + cost * p.weight)
    s[2] = max(level, filled)
    s[1] = at
  end

  function bucket.refund(p, s, at, cost, since, mark, given)
    local level = levelAt(p, s, at)
    local top = since and topAt(p, s, at, since, mark, given) or level
    local promised = since and max(0, level - p.capacity) or 0
    local back = min(level, cost * p.weight, max(0, top - promised))
    if not since or top < level then s[3] = min(maxSafe, s[3] + ceil(back / p.weight)) end
    s[2] = level - back
    s[1] = at
  end

  function topAt(p, s, at, since, mark, given)
    local givenSince = s[3] - given
    if givenSince < 0 or s[3] == maxSafe then return 0 end
    return mark - givenSince * p.weight - max(0, at - since) * p.drain
  end

  function bucket.ticket(p, s)
    return s[1], s[2], s[3]
  end

  function bucket.report(p, s, at)
    local level = levelAt(p, s, at)
    local unused = p.capacity - level
    return unused > 0 and floor(unused / p.weight) or 0, ceil(level / p.drain)
  end

  function bucket.adopt(p, s, at, from)
    if from.kind ~= p.kind then return false end
    local level = levelAt(from, s, at)
    local units = ratioUp(level, p.weight, from.weight)
    local booked = ceil(max(0, level - from.capacity) / from.drain)
    local ahead = booked == 0 and 0 or p.capacity + booked * p.drain
    s[2] = min(maxSafe, max(units, ahead))
    s[1] = at
    return true
  end

  function bucket.carry(p, s, at, from, times, per)
    if from.kind ~= p.kind then return false end
    local level = ratioUp(levelAt(from, s, at), times, per)
    s[2] = level < maxSafe and min(p.capacity, ratioUp(level, p.weight, from.weight)) or p.capacity
    s[3] = min(maxSafe, s[3] + ceil(from.capacity / p.weight))
    s[1] = at
    return true
  end

  return bucket
end
`
