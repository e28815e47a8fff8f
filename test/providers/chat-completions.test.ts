import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { chatCompletions } from '../../lib/providers/chat-completions/index.ts'
import { streamOf } from '../support/adapters.ts'
import { cut, cutSizes } from '../support/cuts.ts'
import { readEvents } from '../support/read-events.ts'
import type { ChatEvent } from '../../lib/core/events.ts'
import { ask } from '../support/chat-completions.ts'

const fixtures = join(import.meta.dirname, '../../../test/fixtures/chat-completions')

/** Ids made by the reader differ from run to run. */
function plain (events: readonly ChatEvent[]): unknown {
  return JSON.parse(JSON.stringify(events).replace(/call_[0-9a-f]{24}/g, 'call_made'))
}

t.test('every recorded stream gives its events, however its bytes are cut', async t => {
  const names = readdirSync(fixtures).filter(name => name.endsWith('.sse'))
  t.ok(names.length > 20)
  for (const name of names) {
    const bytes = readFileSync(join(fixtures, name))
    const expected: unknown = JSON.parse(
      readFileSync(join(fixtures, name.replace('.sse', '.events.json')), 'utf8')
    )
    const question = ask({
      n: 2,
      ...name.startsWith('function-call') && { functions: [{ name: 'weather' }] }
    })
    for (const size of cutSizes) {
      t.same(
        plain(readEvents(cut(bytes, size), streamOf(chatCompletions, question))),
        expected,
        `${name} ${size}`
      )
    }
  }
})
