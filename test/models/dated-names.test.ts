import t from 'tap'
import { dateIn, withoutDate } from '../../lib/models/dated-names.ts'

t.test('a snapshot name is a model and a date, in the spellings of the providers', async t => {
  const rows = [
    ['openai/gpt-4o-2024-08-06', 'openai/gpt-4o', '2024-08-06T00:00:00Z'],
    ['anthropic/claude-3-5-sonnet-20241022', 'anthropic/claude-3-5-sonnet', '2024-10-22T00:00:00Z'],
    ['vertex/claude-opus-4@20250514', 'vertex/claude-opus-4', '2025-05-14T00:00:00Z'],
    ['openai/gpt-4-0613', 'openai/gpt-4', undefined],
    ['mistral/large-latest', 'mistral/large', undefined],
    ['ollama/llama3:latest', 'ollama/llama3', undefined]
  ] as const
  for (const [name, model, day] of rows) t.same([withoutDate(name), dateIn(name)], [model, day], name)
})

t.test('anything that only looks like a date is part of the name', async t => {
  for (const name of [
    'gpt-4',
    'gpt-4o-2024-13-06',
    'gpt-4o-2024-08-32',
    'model-1299',
    'llama-2024-08-06-instruct',
    '-latest',
    ':latest',
    'llama3:1224',
    'gpt-4o2024-08-06'
  ]) {
    t.same(
      [withoutDate(name), name.includes('o2024') ? undefined : dateIn(name)],
      [undefined, undefined],
      name
    )
  }
})
