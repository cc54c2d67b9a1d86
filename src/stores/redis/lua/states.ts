/**
 * The packed value of one key: a layout version, then for each policy its id (from its name), its definition (kind, span
 * and numbers), the length of what follows, its state, and the time at which it is like new. Policies that this call does
 * not know are another deploy's, or of another plan: they are kept until they are like new. One that is known under
 * another definition is carried over.
 *
 * A key is read once and written once a call. Where its value holds just the policies of the terms at hand, as nearly
 * always, it is taken apart by their offsets; else record by record.
 */
export const states = `
local layout = char(2)
local margin
local unwritten = -1 -- in place of the expiry
-- By the key's number: its value, or false; the policies whose states are in use, which hold these themselves; the
-- records of others; the time at which it was changed, until then its name; of a value that is still to be written, when
-- it is like new and when it was changed.
local values, openedFor, others, changedAt
local expiries = {}
-- By the key's number, whether a state was carried over to this question's time: for the next it is made ready anew.
local provisional = {}
local carried, define

-- A table with room for as many: to grow it step by step takes longer. What it holds is overwritten before it is read.
local function sized()
  return { spread(KEYS) }
end

local function new(p)
  if p.grows then return p.algorithm.new(p) end
  local s = {}
  for n = 1, p.slots do s[n] = 0 end
  s[p.slots + 1] = unwritten
  return s
end

-- The expiry comes last, after the slots.
local function load(p, value, at, length)
  if p.grows then return p.algorithm.load(p, value, at, length) end
  return { unpack(p.format, value, at) }
end

-- The record of a state, and when it is like new. One that was carried over and not written stays as it was.
local function record(p, s)
  local expires = s[p.slots + 1]
  if s.before and expires == unwritten then return s.before, (unpack('<d', s.before, #s.before - 7)) end
  if not p.grows then return pack(p.recordFormat, p.head, spread(s)), expires end
  local payload = p.algorithm.save(p, s)
  return p.head .. pack('<I4', #payload) .. payload, expires
end

-- Takes a value apart record by record. Returns the records of policies that are not known here.
local function takeApart(own, key, value, now)
  local known, unknown = {}, nil
  for _, p in ipairs(own) do known[p.id] = p end
  if sub(value, 1, 1) == layout then
    local at, length = 2, #value
    while at <= length do
      local id, defined = unpack('<c6B', value, at)
      local size = unpack('<I4', value, at + 7 + defined)
      local start = at + 11 + defined
      local p, definition = known[id], sub(value, at + 7, at + 6 + defined)
      if not p then
        unknown = unknown or {}
        unknown[#unknown + 1] = sub(value, at, start + size - 1)
      elseif definition == p.definition then
        p.states[key] = load(p, value, start, size)
      elseif unpack('<d', value, start + size - 8) ~= unwritten then
        local s = carried(p, definition, value, start, size, now)
        s[p.slots + 1], s.before = unwritten, (p == own[1] and layout or '') .. sub(value, at, start + size - 1)
        s.carried = not p.retunes
        p.states[key], provisional[key] = s, true
      end
      at = start + size
    end
  end
  return unknown
end

-- The value to write at a time, and when it is like new.
local function packed(key, now)
  local own, more = openedFor[key], others[key]
  local value, last = record(own[1], own[1].states[key])
  if #own == 1 and not more then return value, last end
  for n = 2, #own do
    local text, expires = record(own[n], own[n].states[key])
    value = value .. text
    if expires > last then last = expires end
  end
  if not more then return value, last end
  for _, each in ipairs(more) do
    local expires = unpack('<d', each, #each - 7)
    if expires > now then
      value = value .. each
      last = max(last, expires)
    end
  end
  return value, last
end

-- Makes the states of a key ready for the terms with these policies.
local function open(key, own, now)
  -- Other terms of the same name may have changed the key in this call: as if they had written it.
  if openedFor[key] and changedAt[key] ~= KEYS[key] then
    local written, expires = packed(key, now)
    values[key], expiries[key], changedAt[key] = written, { expires, changedAt[key] }, KEYS[key]
  end
  openedFor[key], provisional[key] = own, nil
  local value, first = values[key], own[1]
  if value and #value == own.length and own[2] == nil and sub(value, 1, #first.head) == first.head then
    first.states[key] = { unpack(first.format, value, #first.head + 1) }
    return
  end
  for n = 1, #own do own[n].states[key] = nil end
  others[key] = value and takeApart(own, key, value, now)
  for n = 1, #own do
    local states = own[n].states
    if not states[key] then states[key] = new(own[n]) end
  end
end

local function forget(key, now)
  values[key], openedFor[key], others[key], changedAt[key], expiries[key] = false, nil, nil, now, nil
end

local lastLife, lifeText

-- Writes the key, if it changed, with a life until it is like new, and a margin for clocks that differ.
local function save(key, name)
  local now, value, expires = changedAt[key], values[key], unwritten
  if now ~= name then
    if openedFor[key] then value, expires = packed(key, now) end
  elseif expiries[key] then
    expires, now = spread(expiries[key])
  else
    return
  end
  local life = ceil((expires - now) / 1000) + margin
  if expires == unwritten or life <= 0 then return call('DEL', name) end
  -- Often the key before has as long a life.
  if life ~= lastLife then lastLife, lifeText = life, format('%d', life) end
  call('SET', name, value, 'PX', lifeText)
end
`
