import { logEntries, otherLogEntries } from './log-entries.ts'

/**
 * The Lua version of algorithms/logs/sliding-log.ts. The numbers of a state: the time of the last commit, the index of the first entry, the
 * index after the last entry, the total before the first entry, the id of the open reservations.
 */
export const slidingLog: string = `
function makers.slidingLog()
  local log = { numberFormat = false }
${logEntries}
  local aheadAt, firstAt, advance

  function log.define(p, span, limit)
    p.slots, p.idSlot, p.span, p.limit, p.grows = 5, 5, span, limit, true
  end

  function log.new()
    local s = { 0, 0, 0, 0, 0, log = '', base = 0 }
    setForm(s, narrow)
    return s
  end

  -- A record contains: last, total before the first entry, time of the first entry, the id unless it is 0, and the entries.
  -- The size of the record shows whether the id (7 bytes) is there, because entries have 9 or 14 bytes.
  function log.load(value, at, size, form)
    local last, before, base = unpack('<i7i7i7', value, at)
    local id, start = 0, at + 21
    if (size - 21) % sizes[form] == 7 then id, start = unpack('<i7', value, start) end
    local entries = sub(value, start, at + size - 1)
    local s = { last, 0, #entries / sizes[form], before, id, log = entries, base = base }
    setForm(s, form)
    return s
  end

  function log.save(s)
    local id = s[5] == 0 and '' or pack('<i7', s[5])
    return pack('<i7i7i7', s[1], s[4], s.base) .. id .. sub(s.log, s.size * s[2] + 1, s.size * s[3])
  end

  function log.wait(p, s, at, cost)
    if cost > p.limit then return never end
    local last = s[3]
    if last == s[2] then return 0 end
    local now = at + aheadAt(s, at)
    local queued = p.leases and 0 or max(0, timeOf(s, last - 1) - now)
    local target = totalOf(s, last - 1) + cost - p.limit
    local first = firstAt(p, s, at)
    if target <= totalOf(s, first - 1) then return queued end
    local leaving = firstReaching(s, first, target)
    return max(queued, timeOf(s, leaving) + p.span - now)
  end

  function aheadAt(s, at)
    return max(0, s[1] - at)
  end

  function firstAt(p, s, at)
    return firstAfter(s, at + aheadAt(s, at) - p.span)
  end

  function log.take(p, s, at, cost, delay)
    advance(p, s, at)
    if cost > 0 then append(s, at + delay, cost) end
  end

  function advance(p, s, at)
    local ahead = aheadAt(s, at)
    if ahead > 0 then
      log.shift(s, ahead)
      s[5] = 0
    end
    s[1] = at
    dropBefore(s, firstAt(p, s, at))
  end

  function log.report(p, s, at)
    local last = s[3]
    local first = firstAt(p, s, at)
    if first == last then return p.limit, 0, 0 end
    local now = at + aheadAt(s, at)
    local newest = timeOf(s, last - 1)
    local used = totalOf(s, last - 1) - totalOf(s, first - 1)
    return newest > now and not p.leases and 0 or max(0, p.limit - used), newest + p.span - now, used
  end

  return lazily(log, function()
    local usedAt, entryOf, removeNewest
${otherLogEntries}
    function usedAt(p, s, at)
      return totalOf(s, s[3] - 1) - totalOf(s, firstAt(p, s, at) - 1)
    end

    function log.fits(p, s, at, cost)
      return usedAt(p, s, at) + cost <= maxSafe / 2
    end

    function log.count(p, s, at, cost)
      log.take(p, s, at, min(cost, p.limit), 0)
      keepNewest(s, firstAfter(s, at), p.limit)
    end

    function log.refund(p, s, at, cost)
      advance(p, s, at)
      removeNewest(s, s[3] - 1, cost)
    end

    function removeNewest(s, entry, units)
      while units > 0 and entry >= s[2] do
        units = units - removeUnits(s, entry, units)
        entry = entry - 1
      end
    end

    function log.bookedAt(p, s, at, delay)
      return at + delay
    end

    function log.settle(p, s, at, units, since)
      advance(p, s, at)
      local newest = firstAfter(s, p.leases and since - p.span or since) - 1
      if not p.leases then
        removeNewest(s, newest, units)
      elseif entryOf(p, s, since) >= 0 then
        removeUnits(s, newest, units)
      end
    end

    function log.held(p, s, at, since, whole)
      local entry = entryOf(p, s, since)
      if entry < firstAt(p, s, at) then return 0 end
      return min(whole, totalOf(s, entry) - totalOf(s, entry - 1))
    end

    function entryOf(p, s, since)
      local time = p.leases and since - p.span or since
      local entry = firstAfter(s, time - 1)
      return entry < s[3] and timeOf(s, entry) == time and entry or -1
    end

    function log.continues(p, from)
      return from.kind == p.kind and from.span == p.span
    end

    function log.carry(p, s, at, _, times, per)
      advance(p, s, at)
      scale(s, times, per)
      if times ~= per then s[5] = 0 end
    end
  end)
end
`
