/**
 * The packed value of one key: for each policy a record. It has the size of the state (1 byte; of a log `narrow` or `wide`,
 * and 4 bytes after the head tell it), the policy's head (the length of its definition, its id from its name, and the
 * definition: kind and numbers), and the state: 7 bytes a number (8 where it may be a fraction), the last one left out
 * where it is 0. A state is found by the policy's id and understood by its definition: one that was left under another is
 * carried over. Policies that this call does not know are another deploy's, or of another plan: they are kept until they
 * are like new.
 *
 * A key is read once and written once a call. Where its value holds just the one policy of the terms at hand, as nearly
 * always, it is told by its length and its head; else it is taken apart record by record.
 */
export const states = `
local margin
local narrow, wide = 254, 255
-- By the key's number: its value, or false; the policies whose states are in use, which hold these themselves; the
-- records of others; the time at which it was changed, until then its name; when all its states are like new.
local values, openedFor, others, changedAt, likeNew
-- By the key's number, whether a state was carried over to this question's time: for the next it is made ready anew.
local provisional = {}
local carried, revived, revive, standing

-- A table with room for as many: to grow it step by step takes longer. What it holds is overwritten before it is read.
local function sized()
  return { spread(KEYS) }
end

local function new(p)
  if p.grows then return p.algorithm.new() end
  local s = {}
  for n = 1, p.slots do s[n] = 0 end
  return s
end

local function isNew(s, slots)
  for n = 1, slots do
    if s[n] ~= 0 then return false end
  end
  return true
end

-- The size tells how many numbers there are.
local function load(p, value, at, size, form)
  if p.grows then return p.algorithm.load(value, at, size, form) end
  local s = { unpack('<' .. rep(p.number, size / p.bytes), value, at) }
  for n = size / p.bytes + 1, p.slots + 1 do s[n] = 0 end
  return s
end

-- One that was carried over and not written stays as it was.
local function record(p, s)
  if s.before then return s.before end
  if p.grows then
    local payload = p.algorithm.save(s)
    return char(s.form) .. p.head .. pack('<I4', #payload) .. payload
  end
  local short = p.slots - 1
  if s[p.slots] == 0 then return pack(p.shortFormat, p.shortHead, spread(s, 1, short)) end
  return pack(p.longFormat, p.longHead, spread(s, 1, p.slots))
end

-- When a state is like new that was left under these numbers, and its record is no longer needed.
local function expiryOf(from, s, now)
  local at = standing(from, s[1], now)
  local _, left = from.algorithm.report(from, s, at)
  return now + left + (at - now)
end

-- Takes a value apart record by record. Returns the records of policies that are not known here.
local function takeApart(own, key, value, now)
  local known, unknown = {}, nil
  for _, p in ipairs(own) do known[sub(p.head, 2, 5)] = p end
  local at, length = 1, #value
  while at <= length do
    local form, defined = byte(value, at, at + 1)
    local id, definition = sub(value, at + 2, at + 5), sub(value, at + 6, at + 5 + defined)
    local start, size, p = at + 6 + defined, form, known[id]
    if form >= narrow then size, start = unpack('<I4', value, start) end
    if p and sub(p.head, 6) == definition then
      p.states[key] = load(p, value, start, size, form)
    else
      local text, from = sub(value, at, start + size - 1), revived(definition)
      local s = from and load(from, value, start, size, form)
      local expires = from and expiryOf(from, s, now) or now
      if p then
        -- What nobody has written yet is new under any numbers.
        if from and not isNew(s, from.slots) then
          s = carried(p, from, s, now)
          s.before, s.expires, s.carried = text, expires, not p.retunes
          p.states[key], provisional[key] = s, true
        end
      elseif not from or expires > now then
        unknown = unknown or {}
        unknown[#unknown + 1] = { text, expires }
      end
    end
    at = start + size
  end
  return unknown
end

-- The value to write, and when it is like new.
local function packed(key)
  local own, more, last = openedFor[key], others[key], likeNew[key]
  local value = record(own[1], own[1].states[key])
  if not own[2] and not more and not provisional[key] then return value, last end
  for n = 2, #own do value = value .. record(own[n], own[n].states[key]) end
  for n = 1, #own do
    local s = own[n].states[key]
    if s.before then last = max(last, s.expires) end
  end
  if more then
    for _, each in ipairs(more) do
      value = value .. each[1]
      last = max(last, each[2])
    end
  end
  return value, last
end

-- Makes the states of a key ready for the terms with these policies.
local function open(key, own, now)
  -- Other terms of the same name may have changed the key in this call: as if they had written it.
  if openedFor[key] and changedAt[key] ~= KEYS[key] then values[key] = packed(key) end
  openedFor[key], provisional[key] = own, nil
  local value, first = values[key], own[1]
  if value and not own[2] then
    if #value == first.longLength and sub(value, 1, #first.longHead) == first.longHead then
      first.states[key] = { unpack(first.longNumbers, value, #first.longHead + 1) }
      return
    elseif #value == first.shortLength and sub(value, 1, #first.shortHead) == first.shortHead then
      local s = { unpack(first.shortNumbers, value, #first.shortHead + 1) }
      s[first.slots] = 0
      first.states[key] = s
      return
    end
  end
  for n = 1, #own do own[n].states[key] = nil end
  -- The first byte of another layout is no size.
  others[key] = value and byte(value) > 2 and takeApart(own, key, value, now)
  for n = 1, #own do
    local states = own[n].states
    if not states[key] then states[key] = new(own[n]) end
  end
end

local function forget(key, now)
  values[key], openedFor[key], others[key], changedAt[key] = false, nil, nil, now
end

local lastLife, lifeText

-- Writes the key, if it changed, with a life until it is like new, and a margin for clocks that differ.
local function save(key, name)
  local now = changedAt[key]
  if now == name then return end
  if not openedFor[key] then return call('DEL', name) end
  local value, expires = packed(key)
  local life = ceil((expires - now) / 1000) + margin
  if life <= 0 then return call('DEL', name) end
  -- Often the key before has as long a life.
  if life ~= lastLife then lastLife, lifeText = life, format('%d', life) end
  call('SET', name, value, 'PX', lifeText)
end
`
