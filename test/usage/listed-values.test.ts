import t from 'tap'
import { readLine } from '../../lib/usage/journal.ts'

const names = ['id-1', 'call-1', 1700000000000, 'key-1', 'chat', 'asked', 'openai/gpt-5', 'openai']

t.test('a journal from before an upgrade is read', async t => {
  t.match(readLine(JSON.stringify([...names, 1, 0, 30, 5000])), {
    id: 'id-1',
    at_ms: 1700000000000,
    provider: 'openai',
    outcome: 'interrupted',
    streamed: 1,
    attempts: 1,
    prompt_tokens: 30,
    cost_nano_usd: 5000,
    estimated: 1,
    steps: null
  })
  const ended = [...names, 'ok', 200, 1, 2, 30, 7, null, null, 0, 5000, 0, 40, 10]
  const row = {
    id: 'id-1',
    outcome: 'ok',
    status: 200,
    attempts: 2,
    completion_tokens: 7,
    estimated: 0,
    cost_nano_usd: 5000,
    duration_ms: 40,
    first_byte_ms: 10,
    tags: null
  }
  t.match(readLine(JSON.stringify([...ended, 9])), { ...row, cache_write_tokens: 9 })
  t.match(readLine(JSON.stringify(ended)), { ...row, cache_write_tokens: null }, 'without the last column')
})
