import t from 'tap'
import { answers } from './answer-events.ts'
import { scalesWith } from '../support/scaling.ts'
import { repairSchemaKeywords } from '../../lib/chat/schema-keywords.ts'
import { ChunkBuilder } from '../../lib/dialects/chat-completions/chunk.ts'
import { toCompletion } from '../../lib/dialects/chat-completions/complete.ts'
import type { AnswerHead } from '../../lib/dialects/dialect.ts'

const list = <T>(size: number, item: (index: number) => T): T[] =>
  Array.from({ length: size }, (_, index) => item(index))

t.test('schema keywords are repaired in time linear in the schema', async t => {
  const nested = (depth: number): Record<string, unknown> =>
    depth === 0 ? { min_length: 1 } : { any_of: [nested(depth - 1)] }
  scalesWith(t, 'nesting', { from: 8, doublings: 4, input: nested, run: repairSchemaKeywords })
  scalesWith(t, 'properties', {
    input: size => ({
      properties: Object.fromEntries(list(size, index => [`p${index}`, { min_length: 1 }]))
    }),
    run: repairSchemaKeywords
  })
  scalesWith(t, 'branches', {
    input: size => ({ any_of: list(size, () => ({ max_length: 1 })) }),
    run: repairSchemaKeywords
  })
})

t.test('answers are printed and folded in time linear in their events', async t => {
  const head: AnswerHead = { type: 'answer-start', id: '1', model: 'm', createdSeconds: 1 }
  for (const [name, events] of Object.entries(answers)) {
    scalesWith(t, `${name}, streamed`, {
      input: events,
      run: all => {
        const chunks = new ChunkBuilder(head, true)
        for (const event of all) JSON.stringify(chunks.of(event))
        JSON.stringify(chunks.end())
      }
    })
    scalesWith(t, `${name}, complete`, {
      input: size => [{ events: [head, ...events(size)] }],
      run: toCompletion
    })
  }
})
