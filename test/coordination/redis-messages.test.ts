import { EventEmitter } from 'node:events'
import t from 'tap'
import { RedisMessages } from '../../lib/coordination/redis-messages.ts'
import type { RedisClient } from '../../lib/coordination/connect-redis.ts'

/** A connection that is established at once, and records its topics. */
class Connection
  extends EventEmitter
  implements Pick<RedisClient, 'status' | 'connect' | 'disconnect' | 'subscribe'> {
  status = 'wait'
  connections = 0
  readonly topics: string[] = []

  readonly connect = async (): Promise<void> => {
    this.connections++
    this.status = 'ready'
    this.emit('ready')
  }

  readonly disconnect = (): void => {
    void this.connect()
  }

  readonly subscribe = async (...topics: string[]): Promise<void> => {
    this.topics.push(...topics)
  }
}

function messagesOf (connection: Connection, failures: unknown[] = []): RedisMessages {
  // it runs no scripts
  return new RedisMessages(connection as Connection & RedisClient, {
    echoTopic: 'echo',
    onFailure: error => failures.push(error)
  })
}

t.test(
  'a silent connection is replaced, and its listeners learn that messages may be lost',
  async t => {
    const connection = new Connection()
    const [failures, heard]: [unknown[], unknown[]] = [[], []]
    const messages = messagesOf(connection, failures)
    messages.listen('topic', message => heard.push(message))
    for (let beat = 0; beat < 100; beat++) {
      connection.emit('message', 'echo', '')
      messages.check()
    }
    t.equal(connection.connections, 1, 'a connection that receives its own messages stays')
    for (let beat = 0; beat < 11; beat++) messages.check()
    t.equal(connection.connections, 2)
    t.match(failures, [{ message: 'Redis sends no messages' }])
    t.same(new Set(connection.topics), new Set(['echo', 'topic']))
    await Promise.resolve()
    t.same(heard, [undefined, undefined])
  }
)

t.test('a client that has given up reconnects, but not if it has no listeners', async t => {
  const connection = new Connection()
  const messages = messagesOf(connection)
  for (let beat = 0; beat < 100; beat++) messages.check()
  t.equal(connection.connections, 0)
  messages.listen('topic', () => undefined)
  connection.status = 'end'
  messages.check()
  t.equal(connection.connections, 2)
})

t.test('a closed subscription stays closed, even if an earlier ping gets its reply', async t => {
  const connection = new Connection()
  const messages = messagesOf(connection)
  messages.listen('topic', () => undefined)
  messages.close()
  const { connections } = connection // this test uses a client that reconnects at once
  connection.status = 'end'
  messages.check()
  t.equal(connection.connections, connections)
})
