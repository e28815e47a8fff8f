import t from 'tap'
import { errors } from 'undici'
import { failureBeforeHead } from '../../lib/client/failures.ts'

const idle = { wasIdle: true, hasResponseBegun: false, sentMs: 5 }
const reset = Object.assign(new Error('reset'), { code: 'ECONNRESET' })

t.test('the meaning of a failure depends on what had arrived and when', async t => {
  const cases = [
    [reset, idle, { code: 'upstream_unreachable', staleConnection: true, mayBeBilled: false }],
    [
      new errors.SocketError('other side closed'),
      idle,
      { code: 'upstream_unreachable', staleConnection: true, mayBeBilled: false }
    ],
    [
      new Error('broken'),
      idle,
      { code: 'upstream_unreachable', staleConnection: false, mayBeBilled: false }
    ],
    [
      reset,
      { ...idle, wasIdle: false },
      { code: 'upstream_unreachable', staleConnection: false, mayBeBilled: false }
    ],
    [
      reset,
      { ...idle, sentMs: undefined },
      { code: 'upstream_unreachable', staleConnection: false, mayBeBilled: false }
    ],
    [
      reset,
      { ...idle, sentMs: 1500 },
      { code: 'upstream_unreachable', staleConnection: false, mayBeBilled: true }
    ],
    [
      reset,
      { ...idle, hasResponseBegun: true },
      { code: 'upstream_unreachable', staleConnection: false, mayBeBilled: true }
    ],
    [
      new errors.HTTPParserError('no'),
      { ...idle, hasResponseBegun: true },
      { code: 'upstream_invalid_response', acceptedByProvider: true }
    ],
    [
      new errors.HeadersOverflowError(),
      { ...idle, hasResponseBegun: true },
      { code: 'upstream_invalid_response', acceptedByProvider: true }
    ],
    [
      new errors.InvalidArgumentError('invalid header'),
      { ...idle, sentMs: undefined },
      { code: 'internal_error' }
    ]
  ] as const
  for (const [error, state, expected] of cases) {
    t.match(failureBeforeHead(error, state), { ...expected, cause: error })
  }
})
