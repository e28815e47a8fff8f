import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { googleChat } from '../../lib/providers/google/index.ts'
import { readResponse, streamOf } from '../support/adapters.ts'
import { cut, cutSizes } from '../support/cuts.ts'
import { googleAsk } from '../support/google.ts'
import { readEvents } from '../support/read-events.ts'
import { fixtures, recorded, bytesOf, plain, completion } from '../support/google-answers.ts'
import type { ChatInput } from '../../lib/chat/input.ts'

function jsonOf (file: string): unknown {
  return JSON.parse(readFileSync(join(fixtures, file), 'utf8'))
}

/** Returns the request of a recorded answer. */
function requestOf (name: string): Partial<ChatInput> {
  return name === 'two-candidates' ? { n: 2 } : {}
}

t.test('every recorded stream gives its events, however its bytes are cut', async t => {
  t.ok(recorded.length > 10)
  for (const name of recorded) {
    const expected = jsonOf(`${name}.events.json`)
    for (const size of cutSizes) {
      const events = readEvents(cut(bytesOf(name), size), streamOf(googleChat, googleAsk(requestOf(name))))
      t.same(plain(events), expected, `${name} ${size}`)
    }
  }
})

t.test('a recorded stream folds to the equivalent complete answer', async t => {
  const both = recorded.filter(name => readdirSync(fixtures).includes(`${name}.json`))
  t.ok(both.length > 7)
  for (const name of both) {
    const ask = googleAsk(requestOf(name))
    const streamed = readEvents([bytesOf(name)], streamOf(googleChat, ask))
    t.same(completion(streamed), completion(readResponse(googleChat, jsonOf(`${name}.json`), ask)), name)
  }
})
