import t from 'tap'
import { googleChat } from '../../../lib/providers/google/index.ts'
import { readResponse } from '../../support/adapters.ts'
import { googleAsk } from '../../support/google.ts'

t.test('every finish reason maps to one of ours', async t => {
  const reason = (finishReason: string, call = false): unknown =>
    readResponse(
      googleChat,
      {
        candidates: [
          { finishReason, content: { parts: call ? [{ functionCall: { name: 'f' } }] : [{ text: 'x' }] } }
        ]
      },
      googleAsk()
    ).at(-1)
  const ours = {
    stop: [
      'STOP',
      'OTHER',
      'MALFORMED_FUNCTION_CALL',
      'UNEXPECTED_TOOL_CALL',
      'TOO_MANY_TOOL_CALLS',
      'NO_IMAGE',
      'IMAGE_OTHER',
      'FINISH_REASON_UNSPECIFIED',
      'NEWER_THAN_US',
      'constructor',
      ''
    ],
    length: ['MAX_TOKENS', 'CONTINUATION'],
    content_filter: [
      'SAFETY',
      'RECITATION',
      'LANGUAGE',
      'BLOCKLIST',
      'PROHIBITED_CONTENT',
      'SPII',
      'IMAGE_SAFETY',
      'IMAGE_PROHIBITED_CONTENT',
      'IMAGE_RECITATION'
    ]
  }
  for (const [expected, theirs] of Object.entries(ours)) {
    for (const wire of theirs) t.match(reason(wire), { type: 'choice-end', reason: expected }, wire)
  }
  for (const wire of ['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL', 'OTHER']) {
    const empty = {
      candidates: [{ finishReason: wire, finishMessage: 'Malformed function call: print(x)' }]
    }
    t.throws(
      () => readResponse(googleChat, empty, googleAsk()),
      { code: 'upstream_invalid_response' },
      `${wire} without any output is no answer`
    )
  }
  t.match(reason('STOP', true), { reason: 'tool_calls' })
  t.match(reason('SAFETY', true), { reason: 'content_filter' })
})
