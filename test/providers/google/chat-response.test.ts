import t from 'tap'
import { googleChat } from '../../../lib/providers/google/index.ts'
import { readResponse } from '../../support/adapters.ts'
import { googleAsk } from '../../support/google.ts'

t.test('a complete body without an answer is an error', async t => {
  for (const bad of [
    {},
    { candidates: [] },
    { usageMetadata: {} },
    [],
    'text',
    null,
    { candidates: 'no' }
  ]) {
    t.throws(
      () => readResponse(googleChat, bad, googleAsk()),
      { code: 'upstream_invalid_response' },
      JSON.stringify(bad)
    )
  }
  t.throws(() => readResponse(googleChat, [{ error: { code: 500 } }], googleAsk()), {
    code: 'upstream_error'
  })
  t.doesNotThrow(
    () =>
      readResponse(
        googleChat,
        {
          candidates: [null, { content: { parts: [null, { text: 5 }, { text: 'a' }] }, index: 'x' }],
          usageMetadata: []
        },
        googleAsk()
      ),
    'odd values are passed over'
  )
  for (const part of ['x', { functionCall: {} }, { functionCall: 'f' }]) {
    const answer = { candidates: [{ content: { parts: [part] }, finishReason: 'STOP' }] }
    t.throws(
      () => readResponse(googleChat, answer, googleAsk()),
      { code: 'upstream_invalid_response' },
      'no call is lost'
    )
  }
})
