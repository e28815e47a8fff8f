import t from 'tap'
import { GatewayError, ValidationError } from '../../../lib/core/errors.ts'
import { responsesErrors } from '../../../lib/dialects/responses/errors.ts'
import { responsesCall } from '../../support/responses.ts'

const call = responsesCall({})

t.test('an invalid request gives a 400 with a single error, since agents retry a 422', async t => {
  const rows = [
    [
      { loc: ['body', 'input', 0, 'content'], msg: 'Field required', type: 'missing' },
      'missing_required_parameter',
      'input[0].content'
    ],
    [
      { loc: ['body', 'stream'], msg: 'Input should be a valid boolean', type: 'bool_type' },
      'invalid_type',
      'stream'
    ],
    [
      { loc: ['body', 'top_p'], msg: 'Input should be less than or equal to 1', type: 'less_than_equal' },
      'invalid_value',
      'top_p'
    ]
  ] as const
  for (const [detail, code, param] of rows) {
    const { status, body } = responsesErrors(new ValidationError([{ ...detail, loc: [...detail.loc] }]), call)
    t.equal(status, 400)
    t.strictSame(JSON.parse(body), {
      error: {
        message: `Invalid value for \`${param}\`: ${detail.msg}.`,
        type: 'invalid_request_error',
        code,
        param
      }
    })
  }
})

t.test('every other error keeps its status, code and headers', async t => {
  const { status, headers, body } = responsesErrors(
    new GatewayError('rate_limit_exceeded', { retryAfterSeconds: 7 }),
    call
  )
  t.equal(status, 429)
  t.match(headers, { 'retry-after': '7' })
  t.strictSame(JSON.parse(body), {
    error: {
      message: 'Too many requests. Try again later.',
      type: 'rate_limit_error',
      code: 'rate_limit_exceeded',
      param: null
    }
  })
})
