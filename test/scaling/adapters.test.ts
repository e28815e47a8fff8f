import t from 'tap'
import { adapterScales, inputOf } from './adapter.ts'
import { dimensions } from './chat-bodies.ts'
import { scalesWith } from '../support/scaling.ts'

t.test('the input of a chat call is built in time linear in its body', async t => {
  for (const { name, body, ...sizes } of dimensions) {
    scalesWith(t, name, { input: body, run: inputOf, ...sizes })
  }
})

adapterScales('openai', 'gpt-5')
adapterScales('anthropic', 'claude-sonnet-4-5')
