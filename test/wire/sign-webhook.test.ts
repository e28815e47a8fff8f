import t from 'tap'
import { Secret } from '../../lib/core/secret.ts'
import { signWebhook } from '../../lib/wire/sign-webhook.ts'

// The example of the Standard Webhooks specification.
const message = {
  id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  sentAtMs: 1_614_265_330_999,
  body: '{"test": 2432232314}'
}

t.test('a message is signed as in the specification', t => {
  t.same(signWebhook(message, new Secret('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')), {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='
  })
  t.end()
})

t.test('any other text is used as the key itself, and without a secret nothing is signed', t => {
  t.not(signWebhook(message, new Secret('other'))['webhook-signature'], undefined)
  t.same(signWebhook(message, undefined), { 'webhook-id': message.id, 'webhook-timestamp': '1614265330' })
  t.end()
})
