import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { xaiChat } from '../../lib/providers/xai/index.ts'
import { streamOf } from '../support/adapters.ts'
import { cut, cutSizes } from '../support/cuts.ts'
import { readEvents } from '../support/read-events.ts'
import { xaiAsk } from '../support/xai.ts'
import { fixtures } from '../support/xai-answers.ts'

t.test('every recorded stream gives its events, however its bytes are cut', async t => {
  const names = readdirSync(fixtures).filter(name => name.endsWith('.sse'))
  t.ok(names.length >= 4)
  for (const name of names) {
    const bytes = readFileSync(join(fixtures, name))
    const expected: unknown = JSON.parse(
      readFileSync(join(fixtures, name.replace('.sse', '.events.json')), 'utf8')
    )
    for (const size of cutSizes) {
      t.same(readEvents(cut(bytes, size), streamOf(xaiChat, xaiAsk({ n: 2 }))), expected, `${name} ${size}`)
    }
  }
})
