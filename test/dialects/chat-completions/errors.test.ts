import t from 'tap'
import { chatCompletionsErrors } from '../../../lib/dialects/chat-completions/errors.ts'
import { GatewayError, ValidationError } from '../../../lib/core/errors.ts'
import { routedCall } from '../../support/stages.ts'

t.test('an error has its status, headers and body, compared in full', async t => {
  t.strictSame(
    chatCompletionsErrors(new GatewayError('rate_limit_exceeded', { retryAfterSeconds: 3 }), routedCall({})),
    {
      status: 429,
      headers: { 'content-type': 'application/json; charset=utf-8', 'retry-after': '3' },
      body: '{"error":{"message":"Too many requests. Try again later.","type":"rate_limit_error","code":"rate_limit_exceeded","param":null}}'
    }
  )
  t.strictSame(
    chatCompletionsErrors(
      new ValidationError([{ loc: ['body'], msg: 'Field required', type: 'missing' }]),
      routedCall({})
    ),
    {
      status: 422,
      headers: { 'content-type': 'application/json; charset=utf-8' },
      body:
        '{"detail":[{"loc":["body"],"msg":"Field required","type":"missing"}],' +
        '"error":{"message":"Field required.","type":"invalid_request_error","code":"missing_required_parameter","param":null}}'
    }
  )
})
