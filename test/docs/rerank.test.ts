/** Adds the endpoint of `lib/RERANK.md` to a copy of the source, compiles it, and calls it. */

import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { copyBuild } from '../support/copied-build.ts'
import { directoryOf, launch } from '../support/headgate.ts'
import { shortRun } from '../support/rounds.ts'
import { fakeUpstream } from '../support/upstream.ts'

const root = join(import.meta.dirname, '../../..')

interface Block {
  readonly file: string
  /** `ts`: a new file. `diff`: lines for an existing one. */
  readonly language: string
  readonly text: string
}

const blocks = readFileSync(join(root, 'lib/RERANK.md'), 'utf8')
  .split(/^## /m)
  .flatMap(section => {
    const [file = ''] = section.split('\n', 1)
    return [...section.matchAll(/^```(\w+)\n([^]*?)^```$/gm)]
      .map(([, language = '', text = '']): Block => ({ file, language, text }))
  })

/** Returns the text with the new lines of a diff; `undefined` unless the others are there, once. */
function patched (text: string, diff: string): string | undefined {
  const lines = diff.trimEnd().split('\n')
  const before = lines.filter(line => line.startsWith(' ')).map(line => line.slice(1)).join('\n')
  const after = lines.map(line => line.slice(1)).join('\n')
  const [start, end, ...more] = `\n${text}`.split(`\n${before}\n`)
  if (start === undefined || end === undefined || more.length > 0) return undefined
  return `${start}\n${after}\n${end}`.slice(1)
}

t.test('each block is a new file, or fits into an existing one', async t => {
  t.ok(blocks.length > 12, `${blocks.length} blocks`)
  for (const { file, language, text } of blocks) {
    const source = join(root, file)
    if (language === 'ts') t.throws(() => readFileSync(source), { code: 'ENOENT' }, `${file} is new`)
    else t.ok(patched(readFileSync(source, 'utf8'), text), `${file} has the lines around ${text}`)
  }
})

t.test('the endpoint compiles and works', { skip: shortRun, timeout: 900_000 }, async t => {
  const folder = directoryOf(t)
  const main = copyBuild(folder)
  const source = join(folder, 'source')
  for (const name of ['lib', 'pipelines', 'schemas', 'package.json']) {
    cpSync(join(root, name), join(source, name), { recursive: true })
  }
  for (const { file, language, text } of blocks) {
    const path = join(source, file)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, language === 'ts' ? text : patched(readFileSync(path, 'utf8'), text) ?? '')
  }
  writeFileSync(join(source, 'tsconfig.json'), JSON.stringify({
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      rootDir: '.', outDir: '../build', incremental: false, declaration: false, sourceMap: false
    },
    include: [],
    files: ['lib/main.ts', 'lib/public/pipelines.ts', 'lib/public/schemas.ts']
  }))
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const compiled = await promisify(execFile)(process.execPath, [compiler, '-p', source])
    .catch((error: unknown) => error as { readonly stdout: string })
  t.equal(compiled.stdout, '', 'it compiles')

  const results = [{ index: 1, relevance_score: 0.9 }, { index: 0, relevance_score: 0.2 }]
  const upstream = await fakeUpstream({ pieces: [JSON.stringify({ results })] })
  t.teardown(upstream.close)
  writeFileSync(join(folder, 'headgate.yaml'), JSON.stringify({
    providers: { together: { api_key: 'env:TOGETHER_KEY', base_url: upstream.url } },
    keys: [{ name: 'sorter', key: 'env:SORTER_KEY', endpoints: ['rerank'] }],
    stages: [{ name: 'mail', use: 'pattern', at: ['request'], patterns: ['email'], action: 'mask' }]
  }))
  const env = { PORT: '0', TOGETHER_KEY: 'key-at-the-provider', SORTER_KEY: 'key-of-the-sorter-000000' }
  const gateway = launch(t, ['start'], folder, env, [main])
  const [, url = ''] = await gateway.line(/^Headgate listens on (\S+)$/)
  const rerank = async (body: object): Promise<Response> => await fetch(`${url}/v1/rerank`, {
    method: 'POST',
    headers: { authorization: `Bearer ${env.SORTER_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'together/sorter', query: 'fruit', documents: ['a@example.com', 'pear'], ...body
    })
  })
  const answer = await rerank({ top_n: 2 })
  t.equal(answer.status, 200)
  t.same(await answer.json(), { results, model: 'together/sorter' })
  t.match(upstream.requests, [{
    path: '/rerank',
    json: { model: 'sorter', query: 'fruit', documents: ['[email]', 'pear'], top_n: 2 }
  }])
  t.equal((await rerank({ top_n: 0 })).status, 422)
  t.match(await (await fetch(`${url}/openapi.json`)).text(), /"\/v1\/rerank"/)
})
