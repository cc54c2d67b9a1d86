/**
 * Restates algorithms/sliding-log.ts. State: last, index of the first entry, one past the last, total before the first;
 * the entries are one string of which a call reads only what the halving looks at. An entry has the lower bytes of its
 * time and of its total: the rest follows from the time of the first entry and the total before it, as none is smaller.
 * That takes 9 bytes (narrow), or 14 where the entries lie too far apart (wide).
 */
export const slidingLog = `
function makers.slidingLog()
  local sizes = { [narrow] = 9, [wide] = 14 }
  local formats = { [narrow] = '<I6I3', [wide] = '<I7I7' }
  local times = { [narrow] = 2 ^ 48, [wide] = 2 ^ 53 }
  local totals = { [narrow] = 2 ^ 24, [wide] = 2 ^ 53 }

  local function time(s, entry)
    local low = unpack(s.format, s.log, s.size * entry + 1)
    return s.base + (low - s.base) % s.times
  end

  local function total(s, entry)
    local before = s[4]
    if entry < s[2] then return before end
    local _, low = unpack(s.format, s.log, s.size * entry + 1)
    return before + (low - before) % s.totals
  end

  local function packed(s, time, total)
    return pack(s.format, time % s.times, total % s.totals)
  end

  local function formed(s, form)
    s.form, s.size, s.format, s.times, s.totals = form, sizes[form], formats[form], times[form], totals[form]
  end

  local function ahead(s, at)
    return max(0, s[1] - at)
  end

  local function firstAt(p, s, at)
    local left = at + ahead(s, at) - p.span
    local low, high = s[2], s[3]
    if low == high or time(s, low) > left then return low end
    while low < high do
      local middle = floor((low + high) / 2)
      if time(s, middle) > left then high = middle else low = middle + 1 end
    end
    return low
  end

  local function usedAt(p, s, at)
    return total(s, s[3] - 1) - total(s, firstAt(p, s, at) - 1)
  end

  -- Writes the entries from the first one given on anew, with their times and totals less by so much.
  local function rewrite(s, first, sooner, less)
    local entries = { sub(s.log, 1, s.size * first) }
    for n = first, s[3] - 1 do entries[#entries + 1] = packed(s, time(s, n) - sooner, total(s, n) - less) end
    s.log = concat(entries)
  end

  -- Once the entries lie too far apart for the narrow form: until the log is empty.
  local function widen(s)
    local entries = {}
    for n = 0, s[3] - 1 do entries[#entries + 1] = pack(formats[wide], n < s[2] and 0 or time(s, n), total(s, n)) end
    s.log = concat(entries)
    formed(s, wide)
  end

  -- What has left is cut off when the state is saved; the totals start from 0 again before they pass 2^53.
  local function drop(s, first)
    s[4] = total(s, first - 1)
    if first == s[3] then
      s[2], s[3], s[4], s.log, s.base = 0, 0, 0, '', 0
      return formed(s, narrow)
    end
    s.base = time(s, first)
    s[2] = first
    if s[4] > maxSafe / 4 then
      rewrite(s, first, 0, s[4])
      s[4] = 0
    end
  end

  local function trim(p, s)
    local spare = total(s, s[3] - 1) - p.limit
    local first = s[2]
    while total(s, first) <= spare do first = first + 1 end
    drop(s, first)
  end

  local function settle(p, s, at)
    local shift = ahead(s, at)
    if shift > 0 and s[2] < s[3] then
      rewrite(s, s[2], shift, 0)
      s.base = s.base - shift
    end
    s[1] = at
    drop(s, firstAt(p, s, at))
  end

  local function append(s, at, cost)
    local last = s[3]
    local sum = total(s, last - 1) + cost
    if last == s[2] then s.base = at end
    if s.form == narrow and (sum - s[4] >= s.totals or at - s.base >= s.times) then widen(s) end
    local newest = last > s[2] and time(s, last - 1)
    if newest and newest >= at then
      last, at = last - 1, newest
    end
    s.log = sub(s.log, 1, s.size * last) .. packed(s, at, sum)
    s[3] = last + 1
  end

  local function lighten(s, entry, cost)
    local back = min(cost, total(s, entry) - total(s, entry - 1))
    rewrite(s, entry, 0, back)
    if total(s, entry) == total(s, entry - 1) then
      s.log = sub(s.log, 1, s.size * entry) .. sub(s.log, s.size * (entry + 1) + 1)
      s[3] = s[3] - 1
    end
    return back
  end

  local log = {}

  function log.define(p, span, limit)
    p.slots, p.span, p.limit, p.grows = 4, span, limit, true
  end

  function log.new()
    local s = { 0, 0, 0, 0, log = '', base = 0 }
    formed(s, narrow)
    return s
  end

  -- In the record: last, total before the first entry, its time, and the entries.
  function log.load(value, at, size, form)
    local last, before, base = unpack('<i7i7i7', value, at)
    local s = { last, 0, (size - 21) / sizes[form], before, log = sub(value, at + 21, at + size - 1), base = base }
    formed(s, form)
    return s
  end

  function log.save(s)
    return pack('<i7i7i7', s[1], s[4], s.base) .. sub(s.log, s.size * s[2] + 1, s.size * s[3])
  end

  function log.wait(p, s, at, cost)
    if cost > p.limit then return never end
    local last = s[3]
    if last == s[2] then return 0 end
    local now = at + ahead(s, at)
    local queued = max(0, time(s, last - 1) - now)
    local target = total(s, last - 1) + cost - p.limit
    local low, high = firstAt(p, s, at), last - 1
    if target <= total(s, low - 1) then return queued end
    while low < high do
      local middle = floor((low + high) / 2)
      if total(s, middle) >= target then high = middle else low = middle + 1 end
    end
    return max(queued, time(s, low) + p.span - now)
  end

  function log.fits(p, s, at, cost)
    return usedAt(p, s, at) + cost <= maxSafe / 2
  end

  function log.take(p, s, at, cost, delay)
    settle(p, s, at)
    if cost > 0 then append(s, at + delay, cost) end
  end

  function log.count(p, s, at, cost)
    log.take(p, s, at, min(cost, p.limit), 0)
    trim(p, s)
  end

  function log.refund(p, s, at, cost, since)
    settle(p, s, at)
    local entry = s[3] - 1
    if since then while entry >= s[2] and time(s, entry) > since do entry = entry - 1 end end
    while cost > 0 and entry >= s[2] do
      if since and time(s, entry) ~= since then return end
      cost = cost - lighten(s, entry, cost)
      entry = entry - 1
    end
  end

  function log.ticket(p, s)
    return time(s, s[3] - 1), 0, 0
  end

  function log.report(p, s, at)
    local last = s[3]
    local first = firstAt(p, s, at)
    if first == last then return p.limit, 0 end
    local now = at + ahead(s, at)
    local newest = time(s, last - 1)
    local used = total(s, last - 1) - total(s, first - 1)
    return newest > now and 0 or max(0, p.limit - used), newest + p.span - now
  end

  function log.carry(p, s, at, from, times, per)
    if from.kind ~= p.kind or from.span ~= p.span then return false end
    settle(p, s, at)
    local entries, before = {}, s[4]
    for n = s[2], s[3] - 1 do
      entries[#entries + 1] = pack(formats[wide], time(s, n), min(maxSafe, ratioUp(total(s, n) - before, times, per)))
    end
    s[2], s[3], s[4], s.log = 0, #entries, 0, concat(entries)
    formed(s, wide)
    if #entries > 0 then trim(p, s) end
    return true
  end

  return log
end
`
