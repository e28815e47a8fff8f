import t from 'tap'
import { wireEnd, type AnswerEnd } from '../../../lib/dialects/messages/stop-reason.ts'

t.test('every finish reason has a stop reason in this dialect', async t => {
  const plain: AnswerEnd = {
    reason: 'stop',
    stopSequence: undefined,
    isContextFull: false,
    refusal: '',
    callsTools: false
  }
  const rows: ReadonlyArray<readonly [Partial<AnswerEnd>, object]> = [
    [{}, { stop_reason: 'end_turn' }],
    [{ reason: undefined }, { stop_reason: 'end_turn' }],
    [{ stopSequence: '###' }, { stop_reason: 'stop_sequence', stop_sequence: '###' }],
    [{ reason: 'length' }, { stop_reason: 'max_tokens' }],
    [{ reason: 'length', isContextFull: true }, { stop_reason: 'model_context_window_exceeded' }],
    [{ reason: 'length', callsTools: true }, { stop_reason: 'max_tokens' }],
    [{ reason: 'tool_calls' }, { stop_reason: 'tool_use' }],
    [{ reason: 'function_call' }, { stop_reason: 'tool_use' }],
    [{ callsTools: true }, { stop_reason: 'tool_use' }],
    [
      { reason: 'content_filter' },
      { stop_reason: 'refusal', stop_details: { type: 'refusal', category: null, explanation: null } }
    ],
    [
      { refusal: 'No.' },
      { stop_reason: 'refusal', stop_details: { type: 'refusal', category: null, explanation: 'No.' } }
    ],
    [{ refusal: 'No', reason: 'length' }, { stop_reason: 'max_tokens' }]
  ]
  for (const [end, wanted] of rows) {
    t.strictSame(wireEnd({ ...plain, ...end }), { stop_sequence: null, ...wanted }, JSON.stringify(end))
  }
})
