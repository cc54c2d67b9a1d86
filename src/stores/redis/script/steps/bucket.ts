/**
 * The Lua version of algorithms/buckets/bucket.ts. The numbers of a state: the time of the last commit, the level, the id of the open
 * reservations.
 */
export const bucket = `
function makers.bucket()
  local bucket = { numberFormat = false }

  function bucket.define(p, burst, weight, rate)
    p.slots, p.idSlot, p.burst, p.weight, p.rate, p.per, p.capacity = 3, 3, burst, weight, rate, 1, burst * weight
    p.span = ceil(p.capacity / rate)
    p.tolerance = p.tolerance or max(clockSkew, p.span, weight)
  end

  local function excessWait(p, level, ticks)
    local excess = level - (p.capacity - ticks)
    if excess <= 0 then return 0 end
    return ticks > p.capacity and never or ceil(excess / p.rate)
  end

  function bucket.wait(p, s, at, cost)
    if s[3] ~= 0 then return bucket.waitBehind(p, s, max(at, s[1]), cost * p.weight) end
    return excessWait(p, drained(p, s[2], at - s[1]), cost * p.weight)
  end

  function bucket.take(p, s, at, cost, delay)
    if s[3] ~= 0 or delay > 0 then return bucket.takeAmongBookings(p, s, at, cost * p.weight, delay) end
    s[2] = drained(p, s[2], at - s[1]) + cost * p.weight
    s[1] = at
  end

  function bucket.report(p, s, at)
    if s[3] ~= 0 then return bucket.reportBookings(p, s, max(at, s[1])) end
    local level = drained(p, s[2], at - s[1])
    local unused = p.capacity - level
    if unused < 0 then return 0, ceil(level / p.rate), ceil(level / p.weight) end
    return floor(unused / p.weight), ceil(level / p.rate)
  end

  -- How long units taken now stay used: until the earlier units drain. Nil while a reservation is open, because a settlement
  -- may give units back at any time.
  function bucket.staysTaken(p, s)
    if s[3] == 0 then return floor(s[2] / p.rate) end
  end

  return lazily(bucket, function()
    local levelAt, advance, void, close
    make('bookings')

    function bucket.scaledWait(p, s, at, cost, capacity)
      return bucket.waitBehind(p, s, max(at, s[1]), ratioUp(cost, p.capacity, capacity))
    end

    function bucket.waitBehind(p, s, now, ticks)
      local from = bookings.lastAfter(s, now)
      return from - now + excessWait(p, levelAt(p, s, from), ticks)
    end

    function levelAt(p, s, at)
      if s[3] == 0 then return drained(p, s[2], at - s[1]) end
      return bookings.levelAt(p, s, s[1], s[2], max(at, s[1]))
    end

    function bucket.fits(p, s, at, cost)
      local ahead = s[3] == 0 and 0 or bookings.ahead(s, max(at, s[1]))
      return levelAt(p, s, at) + ahead + cost * p.weight <= maxSafe
    end

    function bucket.takeAmongBookings(p, s, at, ticks, delay)
      local fell = at > s[1] and 1 or 0
      local level = advance(p, s, at)
      if delay > 0 then
        bookings.book(p, s, at, level, at + delay, ticks)
        if s[3] == 0 then s[3] = -1 end
      elseif ticks > 0 then
        if s[3] ~= 0 then bookings.arrive(s, at, level, fell) end
        s[2] = level + ticks
      end
    end

    function advance(p, s, at)
      local last, level = s[1], s[2]
      if at >= last then level = bookings.advance(p, s, last, level, at) else void(s, last - at) end
      s[1] = at
      s[2] = level
      if at > last then close(s) end
      return level
    end

    function void(s, ahead)
      bookings.restart(s, ahead)
      s[3] = s.more and -1 or 0
    end

    function close(s)
      if not bookings.over(s, s[2]) then return end
      s.more = nil
      s[3] = 0
    end

    function bucket.count(p, s, at, cost)
      local level = levelAt(p, s, at)
      local filled = min(p.capacity, level + cost * p.weight)
      local fell = at > s[1] and 1 or 0
      bucket.take(p, s, at, 0, 0)
      if s[3] ~= 0 and filled > level then bookings.arrive(s, at, level, fell) end
      s[2] = max(level, filled)
    end

    function bucket.refund(p, s, at, cost)
      bucket.take(p, s, at, 0, 0)
      local level, rest = s[2], cost * p.weight
      local open = s[3] ~= 0
      if open and s.more then rest = bookings.refund(p, s, at, level, rest) end
      s[2] = max(0, level - rest)
      if not open then return end
      if rest > 0 then bookings.arrive(s, bookings.since(s, at) + 1, s[2], 0) end
      close(s)
    end

    function bucket.bookedAt(p, s, at, delay)
      return delay > 0 and at + delay or bookings.since(s, at)
    end

    function bucket.settle(p, s, at, units, since, whole)
      local level = advance(p, s, at)
      local ticks = min(units, whole) * p.weight
      if since > bookings.since(s, at) then
        s[2] = level - bookings.cancel(p, s, at, level, since, whole * p.weight, ticks)
      else
        s[2] = level - bookings.settle(s, level, since, ticks)
      end
      close(s)
    end

    function bucket.reportBookings(p, s, now)
      local last = bookings.lastAfter(s, now)
      local level = levelAt(p, s, last)
      local unused = p.capacity - level
      local used = ceil((levelAt(p, s, now) + bookings.ahead(s, now)) / p.weight)
      if last > now then return 0, ceil(level / p.rate) + last - now, used end
      return unused > 0 and floor(unused / p.weight) or 0, ceil(level / p.rate), used
    end

    function bucket.adopt(p, s, at, from)
      if not bucket.continues(p, from) then return false end
      bucket.take(from, s, at, 0, 0)
      s[2] = min(maxSafe, ratioUp(s[2], p.weight, from.weight))
      if s[3] ~= 0 then
        bookings.scale(s, p.weight, from.weight)
        bookings.endRuns(p, s)
      end
      return true
    end

    function bucket.continues(p, from)
      return from.kind == p.kind
    end

    function bucket.carry(p, s, at, from, times, per)
      bucket.take(from, s, at, 0, 0)
      local level = ratioUp(s[2], times, per)
      local ticks = level < maxSafe and ratioUp(level, p.weight, from.weight) or never
      s[2] = min(p.capacity, ticks)
      if s[3] == 0 then return end
      bookings.scale(s, times, per)
      bookings.scale(s, p.weight, from.weight)
      bookings.endRuns(p, s)
      if times ~= per or ticks > p.capacity then void(s, 0) end
    end
  end)
end
`
