import t from 'tap'
import { body } from '../../support/anthropic-answers.ts'

t.test('a forced tool and thinking do not meet', async t => {
  const { thinking, tool_choice: choice } = body({
    reasoning_effort: 'high', tools: [{ function: { name: 'now' } }], tool_choice: 'required'
  })
  t.strictSame([thinking, choice], [undefined, { type: 'any' }])
})
