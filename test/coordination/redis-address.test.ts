import t from 'tap'
import { parseRedisAddress } from '../../lib/coordination/redis-address.ts'

const plain = {
  username: undefined,
  password: undefined,
  database: 0,
  isSecure: false,
  authorityFile: undefined
}

t.test('a URL names one or several hosts, and credentials', async t => {
  t.strictSame(parseRedisAddress('redis://localhost'), {
    ...plain,
    hosts: [{ host: 'localhost', port: 6379 }]
  })
  t.strictSame(parseRedisAddress('redis://one,two:7000,[::1]:7001/2', 26379), {
    ...plain,
    database: 2,
    hosts: [
      { host: 'one', port: 26379 },
      { host: 'two', port: 7000 },
      { host: '::1', port: 7001 }
    ]
  })
  t.strictSame(
    parseRedisAddress('rediss://user:p%40ss%2Fword@redis.internal:6380/0?sslrootcert=/etc/ca%20file.pem'),
    {
      hosts: [{ host: 'redis.internal', port: 6380 }],
      username: 'user',
      password: 'p@ss/word',
      database: 0,
      isSecure: true,
      authorityFile: '/etc/ca file.pem'
    }
  )
  t.match(parseRedisAddress('redis://:secret@one'), { username: undefined, password: 'secret' })
})

t.test('other values are refused', async t => {
  for (const text of [
    '',
    'localhost:6379',
    'http://localhost',
    'redis://',
    'redis://one,',
    'redis://one:port',
    'redis://one/name',
    'redis://:100%@one',
    'redis://one?tls=1'
  ]) {
    t.equal(parseRedisAddress(text), undefined, text)
  }
})
