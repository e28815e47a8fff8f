import t from 'tap'
import { isLoopback } from '../../lib/net/loopback.ts'

t.test('names and addresses of this machine are recognised', async t => {
  for (const host of ['localhost', '127.0.0.1', '127.255.0.1', '::1', '[::1]']) t.ok(isLoopback(host), host)
  for (const host of [
    '',
    '0.0.0.0',
    '::',
    '127.0.0.1.example.com',
    'localhost.example',
    '127.1',
    '10.0.0.1',
    '::ffff:127.0.0.1'
  ]) {
    t.notOk(isLoopback(host), host)
  }
})
