/**
 * Makes `build/headgate.cjs` of the compiled modules: the command and the packages that every start needs, in one file, which loads in a
 * fifth of the time. Packages that few calls need stay packages, and are loaded when one does. Afterwards the page of the dashboard.
 *
 * Beside it `build/THIRD-PARTY-LICENSES.txt`, the licenses of the packages inside.
 */

import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { bundlePage } from './bundle-page.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const outfile = join(root, 'build/headgate.cjs')

/** Native, or not needed by most starts. */
const external = [
  '@modelcontextprotocol/client', '@opentelemetry/*', '@photostructure/sqlite', 'ajv', 'file-type', 'gpt-tokenizer', 'ioredis', 'koa-body', 'nodemailer', 'openid-client',
  'pg', 'sharp', 'tweetnacl', 'undici', 'unpdf'
]

/** Keeps `import.meta` as it is for each module: the path of its file, not that of the bundle. */
const ownPaths = {
  name: 'own-paths',
  setup ({ onLoad }) {
    onLoad({ filter: /[\\/]build[\\/](?:lib|pipelines|schemas)[\\/].*\.js$/ }, ({ path }) => {
      const name = relative(dirname(outfile), path).replaceAll('\\', '/')
      const contents = readFileSync(path, 'utf8')
        .replace(/createRequire\(import\.meta\.url\)(?=\(')/g, 'require') // so that it is found, or left out
        .replaceAll('import.meta.url', `new URL(${JSON.stringify(`./${name}`)}, bundleUrl).href`)
        .replaceAll('import.meta.dirname', `(__dirname + ${JSON.stringify(`/${dirname(name)}`)})`)
      return { contents, loader: 'js' }
    })
  }
}

const { readCatalogue } = await import(pathToFileURL(join(root, 'build/lib/models/catalogue.js')).href)
readCatalogue(JSON.parse(readFileSync(join(root, 'build/lib/models/catalogue.json'), 'utf8')))

const { metafile } = await build({
  absWorkingDir: root,
  entryPoints: ['build/lib/main.js'],
  outfile,
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node16.20', // so that Node.js 16 and 18 can say that they are too old
  external,
  metafile: true,
  banner: { js: "'use strict'; const bundleUrl = require('node:url').pathToFileURL(__filename).href" },
  legalComments: 'none',
  // Names stay, for stack traces; lines stay short enough to find a column in.
  minifyWhitespace: true,
  minifySyntax: true,
  lineLimit: 120,
  logLevel: 'error',
  plugins: [ownPaths]
})

const inputs = [...Object.keys(metafile.inputs), ...await bundlePage(root)]
const packages = new Set(inputs.flatMap(path => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []))
writeFileSync(join(root, 'build/THIRD-PARTY-LICENSES.txt'), [...packages].toSorted().map(license).join(`\n${'-'.repeat(80)}\n\n`))

function license (directory) {
  const { name, version, license } = JSON.parse(readFileSync(join(root, directory, 'package.json'), 'utf8'))
  const file = readdirSync(join(root, directory)).find(file => /^licen[cs]e/i.test(file))
  const text = file === undefined ? '' : `\n${readFileSync(join(root, directory, file), 'utf8').trim()}\n`
  return `${name} ${version} (${license})\n${text}`
}
