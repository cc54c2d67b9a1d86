/**
 * The Lua version of algorithms/buckets/bookings.ts. In Lua, the steps (lowest levels) and bookings (waiting reservations) of a state are
 * in a separate list, `s.more`: how many steps, the steps, the bookings. A state without steps and bookings has no list `s.more`. The
 * function `drained` is in exact-math.ts.
 */
export const bookings = `
function makers.bookings()
  local maxSteps, maxBookings = 32, 64
  local insert, remove = table.insert, table.remove
  -- The time at which the last call of \`pour\` stopped, and the level at that time.
  local time, level = 0, 0
  local firstBooking, pour, enterRun, lastStep, addStep, mergeSteps, mergeBookings, levelThrough, popRun
  local none = { 0 }
  bookings = {}

  function firstBooking(b)
    return 2 + 2 * b[1]
  end

  local function removeBooking(b, k)
    for _ = 1, 3 do remove(b, k) end
  end

  -- The time at which the units of the last booking raise the level; \`at\` if no booking is later than \`at\`.
  function bookings.lastAfter(s, at)
    local b = s.more or none
    local size = #b
    return firstBooking(b) <= size and b[size - 1] > at and b[size - 1] or at
  end

  function bookings.levelAt(p, s, from, before, at)
    local b = s.more or none
    time, level = from, before
    for k = firstBooking(b), #b, 3 do
      if b[k] > at then break end
      pour(p, b, k, at)
    end
    return drained(p, level, at - time)
  end

  function pour(p, b, k, at)
    local start, last, ticks = b[k], b[k + 1], b[k + 2]
    local found = drained(p, level, start - time)
    level = found + ticks
    time = start
    if start == last or last > at then return found end
    level = max(drained(p, level, last - start), min(ticks, p.capacity))
    time = last
    return max(0, level - ticks)
  end

  function bookings.ahead(s, at)
    local b, ticks = s.more or none, 0
    for k = firstBooking(b), #b, 3 do
      if b[k] > at then ticks = ticks + b[k + 2] end
    end
    return ticks
  end

  function bookings.advance(p, s, from, before, at)
    local b = s.more or none
    time, level = from, before
    local k = firstBooking(b)
    while k <= #b and b[k] <= at do
      local start, last, ticks = b[k], b[k + 1], b[k + 2]
      local found = pour(p, b, k, at)
      if last > at then return enterRun(p, s, k, found, at) end
      removeBooking(b, k)
      addStep(s, last, start == last and found or max(0, level - ticks), 0)
      k = firstBooking(b)
    end
    return drained(p, level, at - time)
  end

  function enterRun(p, s, k, found, at)
    local b = s.more
    local whole = drained(p, level, at - time)
    local fitting = min(whole, p.capacity)
    local start = b[k]
    b[k] = at
    b[k + 2] = max(1, whole - fitting)
    addStep(s, start, found, 0)
    return fitting
  end

  function bookings.arrive(s, at, found, fell)
    addStep(s, at, found, fell)
  end

  function bookings.since(s, at)
    return max(at, lastStep(s.more or none))
  end

  function lastStep(b)
    return b[1] > 0 and b[firstBooking(b) - 2] or -never
  end

  function addStep(s, at, found, after)
    local b = s.more
    if not b then
      b = { 0 }
      s.more = b
    end
    local last = firstBooking(b)
    local time = max(at, lastStep(b) + after)
    if time == lastStep(b) and b[last - 1] <= found then return end
    local first = last
    while first > 2 and b[first - 1] >= found do first = first - 2 end
    for _ = first, last - 1 do remove(b, first) end
    insert(b, first, found)
    insert(b, first, time)
    local count = first / 2
    b[1] = count
    if count > maxSteps then mergeSteps(b, count) end
  end

  local function gapAfter(b, k)
    return 1 - b[k + 1] / b[k + 3]
  end

  function mergeSteps(b, count)
    local closest = 2
    for k = 2, 2 * count - 2, 2 do
      if gapAfter(b, k) < gapAfter(b, closest) then closest = k end
    end
    b[closest] = b[closest + 2]
    remove(b, closest + 2)
    remove(b, closest + 2)
    b[1] = count - 1
  end

  function bookings.book(p, s, now, before, at, ticks)
    local b = s.more
    if not b then
      b = { 0 }
      s.more = b
    end
    local size = #b
    if firstBooking(b) <= size and b[size - 2] == at then
      b[size] = b[size] + ticks
    else
      b[size + 1], b[size + 2], b[size + 3] = at, at, ticks
    end
    if (#b + 1 - firstBooking(b)) / 3 > maxBookings then mergeBookings(p, b, now, before) end
  end

  function mergeBookings(p, b, now, before)
    local k = firstBooking(b)
    local start, ticks, last = b[k], b[k + 2] + b[k + 5], b[k + 4]
    local over = drained(p, before, start - now) + ticks - p.capacity
    if start + ceil(max(0, over) / p.rate) * p.per ~= last then
      ticks = levelThrough(p, b, now, before, k + 3) - drained(p, before, last - now)
      start = last
    end
    removeBooking(b, k + 3)
    b[k], b[k + 1], b[k + 2] = start, last, ticks
  end

  function levelThrough(p, b, now, before, last)
    time, level = now, before
    for k = firstBooking(b), last, 3 do pour(p, b, k, b[k + 1]) end
    return level
  end

  function bookings.settle(s, before, since, ticks)
    local b = s.more or none
    local booked = firstBooking(b)
    if booked <= #b and b[booked] ~= b[booked + 1] then return 0 end
    local k = 2
    while k < booked and b[k] <= since do k = k + 2 end
    local back = min(ticks, before, k < booked and b[k + 1] or before)
    for later = k, booked - 1, 2 do b[later + 1] = b[later + 1] - back end
    local lowest = k < booked and b[k + 1] or before - back
    for earlier = 2, k - 1, 2 do b[earlier + 1] = min(b[earlier + 1], lowest) end
    return back
  end

  function bookings.cancel(p, s, now, before, at, whole, ticks)
    local b = s.more or none
    local k = firstBooking(b)
    while k <= #b and b[k + 1] < at do k = k + 3 end
    if k > #b or b[k + 1] ~= at then return 0 end
    if b[k] ~= at then
      if k + 2 ~= #b then return 0 end
      local back = min(before, max(0, whole - b[k + 2]))
      popRun(p, b, now, before, k, whole)
      if whole > ticks then bookings.book(p, s, now, before - back, at, whole - ticks) end
      return back
    end
    b[k + 2] = b[k + 2] - ticks
    if b[k + 2] <= 0 then removeBooking(b, k) end
    return 0
  end

  function popRun(p, b, now, before, k, ticks)
    local start = b[k]
    local left = b[k + 2] - ticks
    if left <= 0 then return removeBooking(b, k) end
    local found = drained(p, before, start - now)
    b[k + 1] = start + ceil(max(0, found + left - p.capacity) / p.rate) * p.per
    b[k + 2] = left
  end

  function bookings.refund(p, s, now, before, ticks)
    local b = s.more or none
    while ticks > 0 and firstBooking(b) <= #b do
      local taken = min(ticks, b[#b])
      bookings.cancel(p, s, now, before, b[#b - 1], taken, taken)
      ticks = ticks - taken
    end
    return ticks
  end

  function bookings.restart(s, ahead)
    local b = s.more or none
    local first = firstBooking(b)
    s.more = nil
    if first > #b then return end
    s.more = { 0 }
    for k = first, #b, 3 do
      s.more[k - first + 2], s.more[k - first + 3], s.more[k - first + 4] = b[k] - ahead, b[k + 1] - ahead, b[k + 2]
    end
  end

  function bookings.over(s, before)
    local b = s.more or none
    return before == 0 and firstBooking(b) > #b
  end

  function bookings.scale(s, times, per)
    local b = s.more or none
    local booked = firstBooking(b)
    for k = 3, booked - 1, 2 do b[k] = ratioDown(b[k], times, per) end
    for k = booked + 2, #b, 3 do b[k] = ratioUp(b[k], times, per) end
  end

  function bookings.endRuns(p, s)
    local b = s.more or none
    for k = firstBooking(b), #b, 3 do
      if b[k] ~= b[k + 1] then b[k], b[k + 2] = b[k + 1], min(b[k + 2], p.capacity) end
    end
  end
end
`
