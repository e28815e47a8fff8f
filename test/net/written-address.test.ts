import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fc from 'fast-check'
import t from 'tap'
import { holdsBytes, isWrittenAddress, plainUrl } from '../../lib/net/written-address.ts'
import { httpServer } from '../support/http-server.ts'

t.test('text that some parser reads as an address is recognised, and bytes are not', async t => {
  const addresses = [
    'http://a/',
    'ht\ttp://a/',
    '\u0001http://a/',
    '\u3000http://a',
    'http:a',
    'HTTP:\\\\a',
    '//a',
    '\\\\a',
    ' /\t/a',
    'file:///etc/passwd',
    's3://b/c',
    'localhost:80/a',
    'note: a',
    `${'\t'.repeat(5000)}http://a/`,
    `h${'\n'.repeat(5000)}ttp://a/`
  ]
  for (const text of addresses) {
    t.same([isWrittenAddress(text), holdsBytes(text)], [true, false], JSON.stringify(text.slice(-40)))
  }
  for (const text of [
    'data:image/png;base64,AAAA',
    'DATA:,a',
    'AAAA',
    '/9j/4AAQ',
    'aGVsbG8=',
    'aGVs\r\nbG8=\n',
    `//uQ${'xAAA'.repeat(100)}`
  ]) {
    t.ok(holdsBytes(text), text)
  }
  for (const text of [
    '/etc/passwd.png',
    'a.png',
    'C:\\a',
    'a b',
    ' data:,a',
    'aGVs%',
    '127.0.0.1/a',
    '//localhost/AAAA'
  ]) {
    t.notOk(holdsBytes(text), text)
  }
  t.notOk(isWrittenAddress('a text without a scheme: none'))
})

t.test('an address passes only in the spelling that all parsers read alike', async t => {
  for (const url of [
    'http://1.1.1.1',
    'https://public.test/a b'.replace(' ', '%20'),
    'HTTPS://Public.test:8443/@a?b#c',
    'http://[2606:4700::1111]:80/'
  ]) {
    t.ok(plainUrl(url), url)
  }
  for (const url of [
    'http://user@public.test/',
    'http://1.1.1.1\\@127.0.0.1/',
    'http://1.1.1.1#@127.0.0.1/',
    'http://010.0.0.1/',
    'http://0x7f.1/',
    'http://127.1/',
    'http://%31.1.1.1/',
    'http:/1.1.1.1/',
    'http:1.1.1.1',
    'http:///1.1.1.1/',
    'http://１.1.1.1/',
    'http://1.1.1.1。/',
    'http://1.1.1.1/a\tb',
    'ftp://1.1.1.1/',
    ' http://1.1.1.1/',
    'http://1.1.1.1?a'
  ]) {
    t.equal(plainUrl(url), undefined, url)
  }
})

const runs = 1500
const odd = fc.constantFrom(
  '\t',
  '\n',
  '\r',
  '\0',
  '\u0001',
  '\u001f',
  ' ',
  '\u00a0',
  '\u200b',
  '\ufeff',
  '\u3000',
  '\u2028',
  '\\',
  '/',
  '@',
  '#',
  '?',
  '%',
  '%2f',
  '%00',
  ':',
  '：',
  '／',
  '．',
  '。',
  '[',
  ']',
  '0',
  '0x',
  ';',
  ',',
  'a'
)
const host = fc.constantFrom(
  '127.0.0.1',
  'localhost',
  '10.0.0.1',
  '1.1.1.1',
  'public.test',
  '[::1]',
  '0177.0.0.1',
  '2130706433'
)
const spelling = fc
  .tuple(
    fc.constantFrom('http', 'https', 'HTTP', 'hTTp'),
    fc.constantFrom('://', ':', ':/', ':\\\\', ':///'),
    host,
    fc.constantFrom('', '@', ':80@', '\\@', '#@', '?@', '/', '%2f@', ':80'),
    fc.option(host, { nil: '' }),
    fc.array(fc.tuple(fc.nat(30), odd), { maxLength: 3 })
  )
  .map(([scheme, slashes, first, between, second, changes]) => {
    let text = `${scheme}${slashes}${first}${between}${second}`
    for (const [at, change] of changes) text = text.slice(0, at) + change + text.slice(at)
    return text
  })

t.test('no accepted spelling leads another parser elsewhere', async t => {
  const samples = [...new Set(fc.sample(spelling, { numRuns: runs, seed: 4 }))].map(
    (text, index) => `${text}/n${index}`
  )
  const parsers: Array<readonly [name: string, hosts: ReadonlyArray<string | undefined>]> = [
    ['WHATWG', samples.map(whatwgHost)]
  ]
  const [python, curl] = [pythonHosts(samples), await curlHosts(t, samples)]
  if (python === undefined) t.comment('Python is not there')
  else parsers.push(['Python', python])
  if (curl === undefined) t.comment('curl is not there')
  else parsers.push(['curl', curl])
  let passed = 0
  for (const [index, text] of samples.entries()) {
    const plain = plainUrl(text)
    if (plain !== undefined) passed++
    for (const [name, hosts] of parsers) {
      const found = hosts[index]
      if (found === undefined) continue
      if (plain === undefined) {
        if (!isWrittenAddress(text) || holdsBytes(text)) {
          t.fail(`${name} reads ${found} in ${JSON.stringify(text)}, which passes as no address`)
        }
      } else if (found.toLowerCase() !== plain.hostname.replace(/^\[|\]$/g, '')) {
        t.fail(`${name} reads ${found} in ${JSON.stringify(text)}`)
      }
    }
  }
  t.ok(
    passed > 20 && passed < samples.length / 2,
    `${passed} of ${samples.length} pass; read by ${parsers.map(([name, hosts]) => `${name}: ${hosts.filter(host => host !== undefined).length}`).join(', ')}`
  )
})

/** Returns the host of a URL to be fetched; `undefined` for other texts. */
function whatwgHost (text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url !== undefined && /^https?:$/.test(url.protocol)
    ? url.hostname.replace(/^\[|\]$/g, '')
    : undefined
}

const program = `
import json, sys
from urllib.parse import urlsplit
def host(text):
  try:
    parts = urlsplit(text)
    return parts.hostname if parts.scheme in ('http', 'https') else None
  except ValueError:
    return None
print(json.dumps([[host(text), host(text.strip())] for text in json.load(sys.stdin)]))`

/** Parses each text as it is and trimmed, as programs do; the latter counts if the former gives nothing. */
function pythonHosts (samples: readonly string[]): Array<string | undefined> | undefined {
  const { stdout, error } = spawnSync('python3', ['-c', program], {
    input: JSON.stringify(samples),
    encoding: 'utf8'
  })
  if (error !== undefined) return undefined
  return (JSON.parse(stdout) as Array<[string | null, string | null]>).map(
    ([raw, stripped]) => raw ?? stripped ?? undefined
  )
}

/**
 * Sends curl to each address through a proxy that records the requested hosts. Texts without a scheme become
 * files for curl.
 */
async function curlHosts (
  t: Parameters<typeof httpServer>[0],
  samples: readonly string[]
): Promise<Array<string | undefined> | undefined> {
  const hosts: Array<string | undefined> = samples.map(() => undefined)
  const { server, url } = await httpServer(t, ({ url: target = '' }, response) => {
    const [, host = '', index] =
      /^http:\/\/(?:[^/]*@)?(\[[^\]]*\]|[^/:]*)[^/]*\/.*?n(\d+)$/i.exec(target) ?? []
    if (index !== undefined) hosts[Number(index)] = host.replace(/^\[|\]$/g, '')
    response.end()
  })
  server.on('connect', (_, socket) => socket.destroy()) // an https request has no path to match by
  const quoted = (text: string): string =>
    text.replace(/["\\]/g, '\\$&').replaceAll('\t', '\\t').replaceAll('\n', '\\n').replaceAll('\r', '\\r')
  const lines = samples
    .filter(text => !text.includes('\0'))
    .map(text => `url = "${quoted(text)}"\noutput = "/dev/null"`)
  const child = spawn(
    'curl',
    ['--silent', '--globoff', '--proxy', url, '--noproxy', '', '--proto-default', 'file', '--config', '-'],
    { stdio: ['pipe', 'ignore', 'ignore'] }
  )
  const started = once(child, 'spawn').then(
    () => true,
    () => false
  )
  if (!await started) return undefined
  child.stdin.end(lines.join('\n'))
  await once(child, 'exit')
  return hosts
}
