/**
 * The packed value of one key: for each policy a record. It has the size of the state (1 byte; of a log `narrow` or `wide`,
 * and 4 bytes after the head tell it), the policy's head (the length of its definition, its id from its name, and the
 * definition: kind and numbers), and the state: 7 bytes a number (8 where it may be a fraction), the last one left out
 * where it is 0. A state is found by the policy's id and understood by its definition: one that was left under another is
 * carried over. Policies that this call does not know are another deploy's, or of another plan: they are kept until they
 * are like new.
 *
 * A key is read once and written once a call. The policies of one scope hold one key at a time: its states lie open in
 * them until they hold another. Where the value has just the one policy of the terms at hand, as nearly always, it is told
 * by its length and its head; else it is taken apart record by record.
 */
export const states = `
local margin
local narrow, wide = 254, 255
-- By the key's number: its value as it was read, or false; the value to write, false where there is to be none; when what
-- was read lapses, and when what is to be written does.
local read, written, lapses, lapsing = nil, {}, {}, {}
-- The policies that hold it, where there are several terms.
local heldBy
local carried, revived, revive, standing, takeApart

local function new(p)
  if p.grows then return p.algorithm.new() end
  local s = {}
  for n = 1, p.slots do s[n] = 0 end
  return s
end

-- One that was carried over, or made anew, and not written stays as it was.
local function record(p, s)
  if s.before then return s.before end
  if p.grows then
    local payload = p.algorithm.save(s)
    return char(s.form) .. p.head .. pack('<I4', #payload) .. payload
  end
  local slots = p.slots
  if s[slots] ~= 0 then return pack(p.longFormat, p.longHead, spread(s, 1, slots)) end
  if slots > 4 then return pack(p.shortFormat, p.shortHead, spread(s, 1, slots - 1)) end
  return pack(p.shortFormat, p.shortHead, s[1], s[2], s[3])
end

function makers.takeApart()
  -- The size tells how many numbers there are.
  local function load(p, value, at, size, form)
    if p.grows then return p.algorithm.load(value, at, size, form) end
    local bytes = p.algorithm.number and 8 or 7
    local s = { unpack('<' .. rep(p.algorithm.number or 'i7', size / bytes), value, at) }
    for n = size / bytes + 1, p.slots + 1 do s[n] = 0 end
    return s
  end

  -- When a state is like new that was left under these numbers, and its record is no longer needed.
  local function expiryOf(from, s, now)
    local at = standing(from, s[1], now)
    local _, left = from.algorithm.report(from, s, at)
    return at + left
  end

  -- Takes a value apart record by record: those of other policies are kept as they are.
  function takeApart(own, value, now)
    local known, others = {}, nil
    for _, p in ipairs(own) do known[sub(p.head, 2, 5)] = p end
    local at, length = 1, #value
    while at <= length do
      local form, defined = byte(value, at, at + 1)
      local id, definition = sub(value, at + 2, at + 5), sub(value, at + 6, at + 5 + defined)
      local start, size, p = at + 6 + defined, form, known[id]
      if form >= narrow then size, start = unpack('<I4', value, start) end
      if p and sub(p.head, 6) == definition then
        p.s = load(p, value, start, size, form)
      else
        make('carry')
        local text, from = sub(value, at, start + size - 1), revived(definition)
        local s = from and load(from, value, start, size, form)
        local expires = from and expiryOf(from, s, now) or now
        if p then
          local last = s and s[1] or 0
          s = from and carried(p, from, s, now) or new(p)
          -- What is like new may be forgotten at any time: nothing must depend on it.
          s.before, s.expires, s.carried = text, expires, not p.retunes and (expires > now or last > now)
          p.s, own.provisional = s, true
        elseif not from or expires > now then
          others = others or {}
          others[#others + 1] = { text, expires }
        end
      end
      at = start + size
    end
    own.others = others
  end
end

-- The value to write, and when it lapses: at the next whole grain after it is like new, and a margin for clocks that
-- differ. So of one policy's it follows from the state, and most calls need not set it again.
local function packed(own)
  local first, others, last = own[1], own.others, own.likeNew
  local value = record(first, first.s)
  if not own[2] and not others and not own.provisional then
    local grain = first.grain
    return value, grain and ceil((last + margin) / grain) * grain or last + margin
  end
  for n = 2, #own do value = value .. record(own[n], own[n].s) end
  for _, p in ipairs(own) do
    if p.s.before then last = max(last, p.s.expires) end
  end
  for _, other in ipairs(others or {}) do
    value = value .. other[1]
    last = max(last, other[2])
  end
  return value, last + margin
end

local function release(own)
  local key = own.key
  if own.changed then
    written[key], lapsing[key] = packed(own)
    own.changed = false
  end
  own.key = false
  if heldBy then heldBy[key] = nil end
end

-- Reads a policy's state where its record is the next, and tells where the one after that begins; else nothing.
local function readNext(p, value, at)
  local s, size, head = p.room, p.shortSize, nil
  if #value - at + 1 < size then return nil end
  head, s[1], s[2], s[3] = unpack(p.shortFormat, value, at)
  if head == p.shortHead then
    s[p.slots] = 0
  else
    size = p.longSize
    if #value - at + 1 < size then return nil end
    head, s[1], s[2], s[3], s[4] = unpack(p.longFormat, value, at)
    if head ~= p.longHead then return nil end
  end
  p.s = s
  return at + size
end

-- Reads the states of a value that has just these policies' in their order; false if it has not.
local function readAll(own, value)
  local at = 1
  for n = 1, #own do
    if not own[n].room then return false end
    at = readNext(own[n], value, at)
    if not at then return false end
  end
  return at > #value
end

-- Makes the states of a key ready in these policies.
local function hold(own, key, now)
  if own.key then release(own) end
  if heldBy then
    if heldBy[key] then release(heldBy[key]) end
    heldBy[key] = own
  end
  own.key, own.provisional, own.others = key, false, nil
  local value, first = written[key], own[1]
  if value == nil then value = read[key] end
  if value and readAll(own, value) then
    if first.grain and not own[2] and written[key] == nil then
      local s = first.s
      local _, left = first.algorithm.report(first, s, s[1])
      lapses[key] = ceil((s[1] + left + margin) / first.grain) * first.grain
    end
    return
  end
  for n = 1, #own do own[n].s = nil end
  -- The first byte of another layout is no size.
  if value and byte(value) > 2 then
    make('takeApart')
    takeApart(own, value, now)
  end
  for n = 1, #own do
    if not own[n].s then
      local s = new(own[n])
      s.before, s.expires, own[n].s = '', 0, s
    end
  end
end

local function forget(own, key)
  local holder = heldBy and heldBy[key] or own.key == key and own
  if holder then holder.key, holder.changed = false, false end
  if heldBy then heldBy[key] = nil end
  written[key] = false
end

local lastLife, lifeText

-- Writes the key, if it changed.
local function save(key, name, now)
  local value = written[key]
  if value == nil then return end
  if not value then return call('DEL', name) end
  if lapsing[key] == lapses[key] and #value == #read[key] then return call('SETRANGE', name, '0', value) end
  local life = ceil((lapsing[key] - now) / 1000)
  if life <= 0 then return call('DEL', name) end
  -- Often the key before has as long a life.
  if life ~= lastLife then lastLife, lifeText = life, format('%d', life) end
  call('SET', name, value, 'PX', lifeText)
end
`
