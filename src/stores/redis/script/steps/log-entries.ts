/**
 * The Lua version of algorithms/logs/log-entries.ts. In Lua, the entries are packed in a string. A call unpacks only what it reads.
 *
 * An entry contains the lower bytes of its time and of its total. The upper bytes follow from the time of the first entry (`base`) and the
 * total before the first entry, because times and totals only grow. An entry has 9 bytes (narrow), or 14 bytes if the times or totals
 * differ too much (wide). `firstAfter` and `firstReaching` search as `firstAbove` in the TypeScript does.
 */
export const logEntries = `
  local sizes = { [narrow] = 9, [wide] = 14 }
  local formats = { [narrow] = '<I6I3', [wide] = '<I7I7' }
  local times = { [narrow] = 2 ^ 48, [wide] = 2 ^ 53 }
  local totals = { [narrow] = 2 ^ 24, [wide] = 2 ^ 53 }

  local function setForm(s, form)
    s.form, s.size, s.format, s.times, s.totals = form, sizes[form], formats[form], times[form], totals[form]
  end

  local function timeOf(s, entry)
    local low = unpack(s.format, s.log, s.size * entry + 1)
    return s.base + (low - s.base) % s.times
  end

  local function totalOf(s, entry)
    local before = s[4]
    if entry < s[2] then return before end
    local _, low = unpack(s.format, s.log, s.size * entry + 1)
    return before + (low - before) % s.totals
  end

  local function firstAfter(s, time)
    local low, high = s[2], s[3]
    if low == high or timeOf(s, low) > time then return low end
    while low < high do
      local middle = floor((low + high) / 2)
      if timeOf(s, middle) > time then high = middle else low = middle + 1 end
    end
    return low
  end

  local function firstReaching(s, first, total)
    local low, high = first, s[3] - 1
    while low < high do
      local middle = floor((low + high) / 2)
      if totalOf(s, middle) >= total then high = middle else low = middle + 1 end
    end
    return low
  end

  local function packEntry(s, time, total)
    return pack(s.format, time % s.times, total % s.totals)
  end

  -- Packs the entries from \`first\` on again: with each time reduced by \`sooner\` and each total by \`less\`.
  local function rewrite(s, first, sooner, less)
    local entries = { sub(s.log, 1, s.size * first) }
    for n = first, s[3] - 1 do entries[#entries + 1] = packEntry(s, timeOf(s, n) - sooner, totalOf(s, n) - less) end
    s.log = concat(entries)
  end

  -- Packs the entries in the wide form, which stays until the log is empty.
  local function widen(s)
    local entries = {}
    for n = 0, s[3] - 1 do entries[#entries + 1] = pack(formats[wide], n < s[2] and 0 or timeOf(s, n), totalOf(s, n)) end
    s.log = concat(entries)
    setForm(s, wide)
  end

  local function append(s, time, cost)
    local last = s[3]
    local total = totalOf(s, last - 1) + cost
    if last == s[2] then s.base = time end
    local newest = last > s[2] and timeOf(s, last - 1) or -1
    if s.form == narrow and (total - s[4] >= s.totals or max(newest, time) - min(s.base, time) >= s.times) then widen(s) end
    if newest > time then return log.insert(s, time, cost) end
    if newest == time then last = last - 1 end
    s.log = sub(s.log, 1, s.size * last) .. packEntry(s, time, total)
    s[3] = last + 1
  end

  -- Entries before \`first\` are removed when the state is saved. Totals start from 0 again before they exceed 2^53.
  local function dropBefore(s, first)
    s[4] = totalOf(s, first - 1)
    if first == s[3] then
      s[2], s[3], s[4], s.log, s.base = 0, 0, 0, '', 0
      return setForm(s, narrow)
    end
    s.base = timeOf(s, first)
    s[2] = first
    if s[4] > maxSafe / 4 then
      rewrite(s, first, 0, s[4])
      s[4] = 0
    end
  end
`

/** Functions for log entries that calls rarely need. */
export const otherLogEntries = `
    function log.insert(s, time, cost)
      local last = s[3]
      local entry = firstAfter(s, time - 1)
      local entries = { sub(s.log, 1, s.size * entry) }
      if timeOf(s, entry) ~= time then
        entries[2] = packEntry(s, time, totalOf(s, entry - 1) + cost)
        s[3] = last + 1
      end
      for n = entry, last - 1 do entries[#entries + 1] = packEntry(s, timeOf(s, n), totalOf(s, n) + cost) end
      s.log = concat(entries)
      s.base = min(s.base, time)
    end

    local function keepNewest(s, last, units)
      local spare = totalOf(s, last - 1) - units
      local first = s[2]
      while totalOf(s, first) <= spare do first = first + 1 end
      dropBefore(s, first)
    end

    local function removeUnits(s, entry, cost)
      local back = min(cost, totalOf(s, entry) - totalOf(s, entry - 1))
      rewrite(s, entry, 0, back)
      if totalOf(s, entry) == totalOf(s, entry - 1) then
        s.log = sub(s.log, 1, s.size * entry) .. sub(s.log, s.size * (entry + 1) + 1)
        s[3] = s[3] - 1
      end
      return back
    end

    function log.shift(s, by)
      if s[2] == s[3] then return end
      rewrite(s, s[2], by, 0)
      s.base = s.base - by
    end

    local function scale(s, times, per)
      local entries, newest = {}, totalOf(s, s[3] - 1)
      local function scaled(units)
        return min(maxSafe, ratioUp(units, times, per))
      end
      for n = s[2], s[3] - 1 do
        local total = scaled(newest - s[4]) - scaled(newest - totalOf(s, n))
        entries[#entries + 1] = pack(formats[wide], timeOf(s, n), total)
      end
      s[2], s[3], s[4], s.log = 0, #entries, 0, concat(entries)
      setForm(s, wide)
    end
`
