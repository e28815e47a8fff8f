import t from 'tap'
import { isOwnHost } from '../../lib/net/own-host.ts'

t.test('hosts of the local network are distinguished from public ones', async t => {
  for (const host of [
    'localhost',
    '127.0.0.1',
    '[::1]',
    '10.1.2.3',
    '192.168.0.9',
    '[fd00::1]',
    'vllm',
    'VLLM.internal',
    'a.b.svc',
    'nas.local',
    'x.home.arpa'
  ]) {
    t.ok(isOwnHost(new URL(`http://${host}/v1`)), host)
  }
  for (const host of [
    'api.openai.com',
    '1.1.1.1',
    '[2606:4700::1111]',
    'internal.example.com',
    'local.example',
    'svc.example.org'
  ]) {
    t.notOk(isOwnHost(new URL(`https://${host}/v1`)), host)
  }
})
