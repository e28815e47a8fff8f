/** Creates the files of a release as a maintainer does, without a second build and without publishing. */

import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { plainCommand } from '../support/plain-node.ts'
import { shortRun } from '../support/rounds.ts'

const root = join(import.meta.dirname, '../../..')

interface Component {
  readonly name: string
  readonly version: string
  readonly licenses?: readonly object[]
  readonly hashes?: readonly object[]
}

interface Sbom {
  readonly serialNumber: string
  readonly metadata: { readonly component: Component }
  readonly components: readonly Component[]
  readonly dependencies: ReadonlyArray<{ readonly ref: string, readonly dependsOn: readonly string[] }>
}

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly version: string
  readonly dependencies: Readonly<Record<string, string>>
}
const archive = `headgate-${manifest.version}.tgz`

function release (...args: readonly string[]): {
  readonly status: number | null
  readonly out: string
  readonly error: string
} {
  const [command, parameters] = plainCommand('node', '.ci/release.mjs', ...args)
  const { status, stdout, stderr } = spawnSync(command, parameters, { cwd: root, encoding: 'utf8' })
  return { status, out: stdout, error: stderr }
}

const isClone = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: root }).status === 0
const withGit = { skip: !isClone && 'this is no clone' }

const hasSsh = spawnSync('ssh-keygen', ['-?']).error === undefined

t.test(
  'a release has the package, its components, provenance and digests, reproducibly',
  { skip: shortRun || withGit.skip },
  async t => {
    const directory = t.testdir()
    const [a, b, key] = [join(directory, 'a'), join(directory, 'b'), join(directory, 'key')]
    const { status, out, error } = release('--dry-run', '--out', a, '--image', 'registry.example.com/own')
    t.equal(status, 0, error)
    if (hasSsh) {
      for (const name of ['key', 'other']) {
        execFileSync('ssh-keygen', [
          '-q',
          '-t',
          'ed25519',
          '-N',
          '',
          '-C',
          'releases',
          '-f',
          join(directory, name)
        ])
      }
    }
    const again = release('--dry-run', '--out', b, ...(hasSsh ? ['--key', key] : []))
    t.equal(again.status, 0, again.error)
    const names = [
      archive,
      archive.replace('.tgz', '.cdx.json'),
      archive.replace('.tgz', '.provenance.json'),
      'SHA256SUMS'
    ]
    t.same(readdirSync(a).toSorted(), names.toSorted())
    for (const name of names) {
      t.ok(readFileSync(join(a, name)).equals(readFileSync(join(b, name))), `${name} is the same again`)
    }
    const digest = createHash('sha256')
      .update(readFileSync(join(a, archive)))
      .digest('hex')
    t.match(readFileSync(join(a, 'SHA256SUMS'), 'utf8'), `${digest}  ${archive}\n`)
    t.equal(
      execFileSync('sha256sum', ['--check', 'SHA256SUMS'], { cwd: a, encoding: 'utf8' }).match(/: OK$/gm)
        ?.length,
      3
    )

    const sbom = JSON.parse(readFileSync(join(a, names[1] ?? ''), 'utf8')) as Sbom
    t.match(sbom, {
      bomFormat: 'CycloneDX',
      metadata: { component: { name: 'headgate', version: manifest.version } }
    })
    t.match(sbom.serialNumber, /^urn:uuid:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    const refs = new Set(
      sbom.components.map(({ name, version }) => `${name}@${version}`).concat(`headgate@${manifest.version}`)
    )
    const packages = new Set(sbom.components.map(({ name }) => name))
    for (const [name, version] of Object.entries(manifest.dependencies)) {
      t.ok(refs.has(`${name}@${version}`), name)
    }
    for (const name of ['preact', 'uplot', '@preact/signals']) {
      t.ok(packages.has(name), `${name}, whose code is in the page`)
    }
    for (const name of ['typescript', 'tap', 'esbuild', 'openai']) {
      t.notOk(packages.has(name), `${name} is for development`)
    }
    t.same(
      sbom.components
        .filter(({ hashes = [], licenses = [] }) => hashes.length === 0 || licenses.length === 0)
        .map(({ name }) => name),
      []
    )
    t.same(
      sbom.dependencies.flatMap(({ ref, dependsOn }) => [ref, ...dependsOn]).filter(ref => !refs.has(ref)),
      []
    )
    for (const name of names.slice(1)) {
      t.notMatch(readFileSync(join(a, name), 'utf8'), root, `${name} names no folder`)
    }

    t.match(JSON.parse(readFileSync(join(a, names[2] ?? ''), 'utf8')), {
      subject: [{ name: archive, digest: { sha256: digest } }],
      predicate: {
        buildDefinition: {
          resolvedDependencies: [
            {
              digest: {
                gitCommit: execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim()
              }
            },
            {
              digest: {
                sha256: createHash('sha256')
                  .update(readFileSync(join(root, 'package-lock.json')))
                  .digest('hex')
              }
            }
          ]
        }
      }
    })
    const [, file = ''] = /--file (\S+)/.exec(out) ?? []
    t.ok(existsSync(join(root, file)), file)
    t.match(out, '--platform linux/amd64,linux/arm64')
    t.match(out, `--tag registry.example.com/own:${manifest.version} `)

    await t.test(
      'the signature is verified as documented, and fails for another file or signer',
      {
        skip: hasSsh ? false : 'ssh-keygen is not installed'
      },
      async t => {
        const [, command = ''] =
          /```sh\n(ssh-keygen -Y verify [^`]+?)\n/.exec(
            readFileSync(join(root, 'docs/releases.md'), 'utf8')
          ) ?? []
        t.match(command, 'SHA256SUMS.sig', 'docs/releases.md has the command')
        const verify = (signer: string): number | null => {
          writeFileSync(
            join(b, 'allowed_signers'),
            `releases ${readFileSync(join(directory, `${signer}.pub`), 'utf8')}`
          )
          return spawnSync('sh', ['-c', command], { cwd: b }).status
        }
        t.equal(verify('key'), 0)
        t.not(verify('other'), 0)
        appendFileSync(join(b, 'SHA256SUMS'), ' ')
        t.not(verify('key'), 0)
      }
    )
  }
)

t.test('missing parts of a release are listed, and without --dry-run it is refused', withGit, async t => {
  const directory = t.testdir({ taken: {} })
  const folder = join(directory, 'release')
  const { status, error } = release('--out', folder)
  t.equal(status, 1)
  t.match(error, 'release: there is no --key FILE to sign with.')
  t.notOk(existsSync(folder))
  t.match(release('--dry-run', '--out', join(directory, 'taken')), {
    status: 1,
    error: /taken exists: name a new folder/
  })
  t.match(release('--dry-run'), { status: 1, error: /--out DIR is missing/ })
})
