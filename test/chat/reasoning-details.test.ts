import t from 'tap'
import { addReasoningDetails } from '../../lib/chat/reasoning-details.ts'
import type { JsonObject } from '../../lib/json/type-guards.ts'

const text = (given: object): JsonObject => ({ type: 'reasoning.text', index: 0, ...given })
const encrypted = (data: string): JsonObject => ({ type: 'reasoning.encrypted', index: 0, data })

const cases: ReadonlyArray<readonly [name: string, pieces: unknown[], details: object[]]> = [
  ['pieces of a text are one, with the signature of the last',
    [[text({ text: 'a', format: 'f' })], [text({ text: 'b', signature: null })], [text({ signature: 'S' })]],
    [text({ text: 'ab', format: 'f', signature: 'S' })]],
  ['nothing follows a signature',
    [[text({ text: 'a', signature: 'S' })], [text({ text: 'b' })]],
    [text({ text: 'a', signature: 'S' }), text({ text: 'b' })]],
  ['another index is another text',
    [[text({ text: 'a' })], [text({ text: 'b', index: 1 })]],
    [text({ text: 'a' }), text({ text: 'b', index: 1 })]],
  ['a summary is joined until data comes, which is never joined',
    [
      [{ type: 'reasoning.summary', summary: 'a', index: 0 }],
      [{ type: 'reasoning.summary', summary: 'b', index: 0 }],
      [encrypted('E1')], [encrypted('E2')],
      [{ type: 'reasoning.summary', summary: 'c', index: 0 }]
    ],
    [
      { type: 'reasoning.summary', summary: 'ab', index: 0 },
      encrypted('E1'), encrypted('E2'),
      { type: 'reasoning.summary', summary: 'c', index: 0 }
    ]],
  ['details of a whole message stay apart',
    [[text({ text: 'a' }), text({ text: 'b' })]],
    [text({ text: 'a' }), text({ text: 'b' })]],
  ['anything else is ignored', [undefined, null, 'x', {}, [1, null], []], []]
]

for (const [name, pieces, expected] of cases) {
  t.test(name, async t => {
    const details: JsonObject[] = []
    for (const piece of pieces) addReasoningDetails(details, piece)
    t.same(details, expected)
  })
}
