/*
 * Writes reference/options.md: all options with their default, an example, and what happens after a usual mistake. The first two come
 * from the comments, the last from the options' tables: the mistake is made, and the error says what to write.
 */
import { writeFileSync } from 'node:fs'
import { Comment, ReflectionKind, RendererEvent } from 'typedoc'
import { rateLimit } from '../dist/express.js'
import { byIp, lruStore, memoryStore, RateLimiter } from '../dist/index.js'
import { Pacer } from '../dist/pacer.js'
import { postgresStore } from '../dist/postgres.js'
import { redisStore } from '../dist/redis.js'

const client = { defineCommand() {}, evalsha() {}, options: {}, on() {} }

/** What reads each group of options. The mistakes of other groups are not tried. */
const readers = {
  RateLimiterOptions: (options) => new RateLimiter({ policies: '1/1s', ...options }),
  GuardOptions: (options) => rateLimit({ policies: '1/1s', ...options }),
  ByIpOptions: byIp,
  MemoryStoreOptions: memoryStore,
  LruStoreOptions: lruStore,
  RedisStoreOptions: (options) => redisStore({ client, ...options }),
  PostgresStoreOptions: (options) => postgresStore({ client: { query() {} }, ...options }),
  PacerOptions: (options) => new Pacer('1/1s', options),
}

/** A text from the environment in place of a number or a flag, a setting that was not found, and a list in place of one value. */
const mistakes = ["'100'", 'null', '[]']

/** The first mistake that the table finds, and its message. */
function mistakeOf(read, option) {
  for (const text of mistakes) {
    try {
      read({ [option]: text === 'null' ? null : text === '[]' ? [] : text.slice(1, -1) })
    } catch (error) {
      if (error.code !== undefined && error.message.includes(option)) {
        const message = error.message.replace(/^HEADGATE_\w+: /, '').replace(/\s*(See )?https?:\S+$/, '')
        return `\`${option}: ${text}\`: [${error.code}](../errors/${error.code}.md). ${message}`
      }
    }
  }
  return ''
}

/** The sentences of a comment: what the option is for, its default and its example. */
function partsOf(comment) {
  const text = Comment.combineDisplayParts(comment?.summary).replaceAll(/\s+/g, ' ')
  const standard = /(?:^|\. |\.\) )Default:? (.+?)\.(?= [A-Z`]|$)/.exec(text)?.[1]
  const example = /Examples?: (`[^`]+`)/.exec(text)?.[1]
  return { about: /^.+?\.(?= |$)/.exec(text)?.[0] ?? text, standard, example }
}

const cell = (text = '') => text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('{{', '{ {')

function sectionOf(group, url) {
  const read = readers[group.name]
  const rows = (group.children ?? []).map((option) => {
    const { about, standard, example } = partsOf(option.comment ?? option.signatures?.[0]?.comment)
    const name = `\`${option.name}\``
    const mistake = read && mistakeOf(read, option.name)
    const written = new RegExp(`Write ${option.name}: (.+)\\.$`).exec(mistake ?? '')?.[1]
    const cells = [
      name,
      about,
      standard ?? (option.flags.isOptional ? '' : 'required'),
      example ?? (written && `\`${written}\``),
    ]
    return `| ${[...cells, mistake].map(cell).join(' | ')} |`
  })
  return `## ${group.name}\n\n${cell(partsOf(group.comment).about)} See [${group.name}](${url}).\n
| option | for | default | example | usual mistake |
| --- | --- | --- | --- | --- |
${rows.join('\n')}\n`
}

export function load(app) {
  app.renderer.on(RendererEvent.END, ({ project, outputDirectory }) => {
    const groups = project
      .getReflectionsByKind(ReflectionKind.Interface)
      .filter(({ name, children }) => name.endsWith('Options') && children !== undefined)
    const order = Object.keys(readers)
    const rank = ({ name }) => (order.includes(name) ? order.indexOf(name) : order.length)
    const sections = groups
      .toSorted((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name))
      .map((group) => sectionOf(group, app.renderer.router.getFullUrl(group)))
    writeFileSync(
      `${outputDirectory}/options.md`,
      `---\naside: false\npageClass: wide-page options-page\n---\n\n# Options\n\nAll options of headgate. An invalid value is an error when the object is made, and its message says what to write.\n\n${sections.join('\n')}`,
    )
  })
}
