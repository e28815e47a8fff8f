import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { replaceInError } from '../../lib/guards/replace-in-error.ts'

const hide = (text: string): string => text.replaceAll('secret', '***')

t.test('the message, the cause and the body of an error are replaced', async t => {
  const original = { dialect: 'messages', status: 400, body: '{"error":{"message":"a secret"}}' } as const
  const error = new GatewayError('invalid_value', {
    message: 'no secret',
    cause: { message: 'the secret' },
    original
  })
  const replaced = replaceInError(error, hide)
  t.equal(replaced.message, 'no ***')
  t.same(replaced.cause, { message: 'the ***' })
  t.equal(replaced.original?.body, '{"error":{"message":"a ***"}}')
  t.equal(replaceInError(replaced, hide), replaced, 'an error without such texts stays the same')
})

t.test('a body that is not JSON is replaced as one text, and an Error as cause stays', async t => {
  const original = { dialect: 'messages', status: 500, body: '<p>secret' } as const
  const cause = new Error('secret')
  const replaced = replaceInError(new GatewayError('upstream_error', { cause, original }), hide)
  t.equal(replaced.original?.body, '<p>***')
  t.equal(replaced.cause, cause)
})
