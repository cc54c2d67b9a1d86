/**
 * The Lua version of algorithms/windows/calendar-window.ts. The numbers of a state: the time of the last commit, the used units, the start
 * and the end of the window, the largest threshold that was reported, the id of the open reservations. `p.starts` has the four starts of
 * windows that the request has (see main.ts). Reservations that expire are in `s.more`.
 */
export const calendarWindow = `
function makers.calendarWindow()
  make('ratioUp')
  local startAt, endAt, runs, usedAt, open
  local window = { numberFormat = false }

  function window.define(p, span, limit, months, days)
    p.slots, p.idSlot, p.idCountsRefunds, p.limit, p.months, p.days = 6, 6, true, limit, months, days
    p.span, p.starts, p.expiring = span, { 0, 0, 0, 0 }, true
  end

  function startAt(p, s, at)
    if runs(s, at) then return s[3] end
    local starts = p.starts
    return at < starts[2] and starts[1] or at < starts[3] and starts[2] or starts[3]
  end

  function endAt(p, s, at)
    if runs(s, at) then return s[4] end
    local starts = p.starts
    local finish = at < starts[2] and starts[2] or at < starts[3] and starts[3] or starts[4]
    return at < finish and finish or s[4]
  end

  function runs(s, at)
    return at < s[4] and at >= s[1] and (usedAt(s, at) ~= 0 or s[5] ~= 0)
  end

  function usedAt(s, at)
    local used = at < s[4] and s[2] or 0
    return s.more and make('expiring').usedAt(s, used, at) or used
  end

  function window.wait(p, s, at, cost)
    if usedAt(s, at) + cost <= p.limit then return 0 end
    if cost > p.limit then return never end
    return min(endAt(p, s, at), s.more and make('expiring').freeAt(s, s[2], p.limit - cost) or never) - at
  end

  function window.take(p, s, at, cost)
    local used = usedAt(s, at)
    if not runs(s, at) and not open(p, s, at) then return end
    s[1] = at
    s[2] = used + cost
    if s.more then make('expiring').drop(s, at) end
  end

  function open(p, s, at)
    local start, finish = startAt(p, s, at), endAt(p, s, at)
    if finish <= at or p.starts[4] == 0 then return false end
    if at >= s[1] then s[5] = 0 end
    s[3], s[4], s[6], s.more = start, finish, 0, nil
    return true
  end

  function window.staysTaken(p, s, at)
    return endAt(p, s, at) - at
  end

  function window.report(p, s, at)
    local used = usedAt(s, at)
    return max(0, p.limit - used), (used > 0 or runs(s, at)) and endAt(p, s, at) - at or 0, used
  end

  return lazily(window, function()
    function window.fits(p, s, at, cost)
      return usedAt(s, at) + cost <= maxSafe / 2
    end

    function window.count(p, s, at, cost)
      window.take(p, s, at, 0)
      s[2] = max(s[2], min(p.limit, s[2] + cost))
    end

    function window.refund(p, s, at, cost)
      window.take(p, s, at, 0)
      s[2] = max(0, s[2] - cost)
    end

    function window.bookedAt(p, s)
      return s[4]
    end

    function window.settle(p, s, at, units)
      window.refund(p, s, at, units)
    end

    function window.lapsed(at, finish)
      return finish <= at
    end

    function window.continues(p, from)
      return from.kind == p.kind and from.months == p.months and from.days == p.days
    end

    function window.carry(p, s, at, from, times, per)
      window.take(p, s, at, 0)
      s[2] = min(p.limit, ratioUp(s[2], times, per))
      if times ~= per then s[6], s.more = 0, nil end
    end

    function window.scaledWait(p, s, at, cost, capacity)
      return window.wait(p, s, at, ratioUp(cost, p.limit, capacity))
    end
  end)
end
`
