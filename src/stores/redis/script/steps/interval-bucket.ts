/**
 * The Lua version of algorithms/buckets/interval-bucket.ts. The numbers of a state: the time of the last commit, the spent units, the start
 * of the interval, the id of the open reservations.
 */
export const intervalBucket = `
function makers.intervalBucket()
  local startAt, spentAt, opensAt, reportSpent
  local interval = { numberFormat = false }

  function interval.define(p, rate, per, capacity, aligned)
    p.slots, p.idSlot, p.rate, p.per, p.capacity, p.aligned = 4, 4, rate, per, capacity, aligned == 1
    p.most = min(maxSafe, rate * floor(4503599627370496 / per))
    p.span = ceil(capacity / rate) * per
  end

  local function shortWait(p, spent, toStart, now, cost)
    local short = spent - (p.capacity - cost)
    if short <= 0 then return now end
    return cost > p.capacity and never or toStart + ceil(short / p.rate) * p.per
  end

  function interval.wait(p, s, at, cost)
    local start = startAt(p, s, at)
    if s[4] ~= 0 then return interval.waitBehind(p, s, start, at, cost) end
    return shortWait(p, spentAt(p, s, start), start - at, 0, cost)
  end

  function startAt(p, s, at)
    local last, start = s[1], s[3]
    if at < last then return p.aligned and at - at % p.per or start - (last - at) end
    local elapsed = at - start
    return elapsed < p.per and start or start + floor(elapsed / p.per) * p.per
  end

  function spentAt(p, s, start)
    if s[4] == 0 then return drained(p, s[2], start - s[3]) end
    return bookings.levelAt(p, s, s[3], s[2], max(start, s[3]))
  end

  function interval.take(p, s, at, cost, delay)
    if s[4] ~= 0 or delay > 0 then return interval.takeAmongBookings(p, s, at, cost, delay) end
    local start = startAt(p, s, at)
    local spent = spentAt(p, s, start)
    s[2] = spent + cost
    s[3] = spent > 0 and start or opensAt(p, at)
    s[1] = at
  end

  function opensAt(p, at)
    return p.aligned and at - at % p.per or at
  end

  function interval.report(p, s, at)
    local start = startAt(p, s, at)
    if s[4] ~= 0 then return interval.reportBookings(p, s, start, at) end
    local spent = spentAt(p, s, start)
    return reportSpent(p, spent, start - at, spent)
  end

  function reportSpent(p, spent, toStart, used)
    return max(0, p.capacity - spent), spent == 0 and 0 or toStart + ceil(spent / p.rate) * p.per, used
  end

  function interval.staysTaken(p, s, at)
    return s[3] + p.per - at
  end

  return lazily(interval, function()
    local behind, advance, void, close
    make('bookings')

    function interval.waitBehind(p, s, start, at, cost)
      local later = behind(s, start)
      local spent = spentAt(p, s, max(start, s[3]) + later)
      return shortWait(p, spent, start + later - at, later == 0 and 0 or start + later - at, cost)
    end

    function behind(s, start)
      local base = max(start, s[3])
      return bookings.lastAfter(s, base) - base
    end

    function interval.fits(p, s, at, cost, delay)
      local start = startAt(p, s, at)
      local ahead = s[4] == 0 and 0 or bookings.ahead(s, max(start, s[3]))
      local waits = floor(delay / p.per) * p.rate
      return spentAt(p, s, start) + ahead + waits + cost <= p.most
    end

    function interval.takeAmongBookings(p, s, at, cost, delay)
      local spent = advance(p, s, at)
      if delay > 0 then
        bookings.book(p, s, s[3], spent, at + delay, cost)
        if s[4] == 0 then s[4] = -1 end
      else
        s[2] = spent + cost
      end
    end

    function advance(p, s, at)
      local last, spent, from = s[1], s[2], s[3]
      local start = startAt(p, s, at)
      if at >= last then spent = bookings.advance(p, s, from, spent, start) else void(s, from - start) end
      s[1] = at
      s[2] = spent
      s[3] = start
      if start <= from then return spent end
      close(s)
      if s[4] ~= 0 then
        bookings.arrive(s, start, spent, 1)
      elseif spent == 0 then
        s[3] = opensAt(p, at)
      end
      return spent
    end

    function void(s, ahead)
      bookings.restart(s, ahead)
      s[4] = s.more and -1 or 0
    end

    function close(s)
      if not bookings.over(s, s[2]) then return end
      s.more = nil
      s[4] = 0
    end

    function interval.count(p, s, at, cost)
      interval.take(p, s, at, 0, 0)
      local spent = s[2]
      s[2] = max(spent, min(p.capacity, spent + cost))
    end

    function interval.refund(p, s, at, cost)
      interval.take(p, s, at, 0, 0)
      local spent, rest = s[2], cost
      local open = s[4] ~= 0
      if open and s.more then rest = bookings.refund(p, s, s[3], spent, cost) end
      s[2] = max(0, spent - rest)
      if not open then return end
      if rest > 0 then bookings.arrive(s, bookings.since(s, s[3]) + 1, s[2], 0) end
      close(s)
    end

    function interval.bookedAt(p, s, at, delay)
      return delay > 0 and at + delay or bookings.since(s, s[3])
    end

    function interval.settle(p, s, at, units, since, whole)
      local spent = advance(p, s, at)
      local start = s[3]
      local back = min(units, whole)
      if since > bookings.since(s, start) then
        s[2] = spent - bookings.cancel(p, s, start, spent, since, whole, back)
      else
        s[2] = spent - bookings.settle(s, spent, since, back)
      end
      close(s)
    end

    function interval.reportBookings(p, s, start, at)
      local later = behind(s, start)
      local used = spentAt(p, s, start) + bookings.ahead(s, max(start, s[3]))
      local spent = spentAt(p, s, max(start, s[3]) + later)
      local remaining, reset = reportSpent(p, spent, start + later - at)
      return later > 0 and 0 or remaining, reset, used
    end

    function interval.adopt(p, s, at, from)
      if not interval.continues(p, from) then return false end
      interval.take(from, s, at, 0, 0)
      bookings.endRuns(p, s)
      return true
    end

    function interval.continues(p, from)
      return from.kind == p.kind and from.per == p.per and from.aligned == p.aligned
    end

    function interval.scaledWait(p, s, at, cost, capacity)
      return interval.wait(p, s, at, ratioUp(cost, p.capacity, capacity))
    end

    function interval.carry(p, s, at, from, times, per)
      interval.take(from, s, at, 0, 0)
      local spent = ratioUp(s[2], times, per)
      s[2] = min(p.capacity, spent)
      if s[4] == 0 then return end
      bookings.scale(s, times, per)
      bookings.endRuns(p, s)
      if times ~= per or spent > p.capacity then void(s, 0) end
    end
  end)
end
`
