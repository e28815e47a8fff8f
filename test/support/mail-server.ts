/** A mail server with enough SMTP to receive messages and to refuse them. */

import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import type { Test } from 'tap'

export interface MailServerOptions {
  /** Serves TLS from the first byte. */
  readonly tls?: { readonly cert: string, readonly key: string }
  /** Returns the answer to a command instead of the usual one; '' for none at all. */
  readonly answer?: (command: string) => string | undefined
}

export interface MailServer {
  readonly url: string
  /** Commands as received, without the lines of messages. */
  readonly commands: string[]
  readonly messages: string[]
}

/** Listens until the test ends. */
export async function mailServer (
  t: Test,
  { tls, answer = () => undefined }: MailServerOptions = {}
): Promise<MailServer> {
  const commands: string[] = []
  const messages: string[] = []
  const server = tls === undefined ? createServer() : createTlsServer(tls)
  server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: import('node:net').Socket) => {
    let rest = ''
    let message: string[] | undefined
    const say = (line: string): void => { if (line !== '') socket.write(`${line}\r\n`) }
    socket.on('error', () => undefined)
    socket.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\r\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        if (message !== undefined) {
          if (line !== '.') message.push(line)
          else {
            messages.push(message.join('\n'))
            message = undefined
            say('250 taken')
          }
          continue
        }
        commands.push(line)
        const given = answer(line)
        if (given !== undefined) say(given)
        else if (line.startsWith('EHLO')) say('250-mail.test\r\n250 AUTH PLAIN')
        else if (line.startsWith('AUTH')) say('235 signed in')
        else if (/^(?:MAIL|RCPT|RSET)/.test(line)) say('250 ok')
        else if (line === 'DATA') {
          message = []
          say('354 go on')
        } else if (line === 'QUIT') socket.end('221 bye\r\n')
        else say('502 unknown')
      }
    })
    say('220 mail.test')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => { server.close() })
  const { port } = server.address() as AddressInfo // listening on TCP
  return { url: `smtp${tls === undefined ? '' : 's'}://127.0.0.1:${port}`, commands, messages }
}
