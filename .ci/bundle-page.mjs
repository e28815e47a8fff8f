/**
 * Makes `build/dashboard/` of `lib/dashboard/page`: `index.html` for every address of the dashboard, and
 * `assets/` whose names hold a digest of what is in them, so that browsers may keep them for ever.
 */

import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { build } from 'esbuild'

/** @returns the paths of everything that went into the page. */
export async function bundlePage (root) {
  const source = 'lib/dashboard/page'
  rmSync(join(root, 'build/dashboard'), { recursive: true, force: true })
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ['main.tsx', 'early-theme.ts', 'styles/index.css', 'icon.svg'].map(file => `${source}/${file}`),
    outdir: 'build/dashboard/assets',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    target: ['chrome123', 'firefox125', 'safari17.5'],
    loader: { '.svg': 'copy', '.woff2': 'file' },
    legalComments: 'none',
    logLevel: 'error',
    metafile: true
  })
  let html = readFileSync(join(root, source, 'index.html'), 'utf8')
  for (const [path, { entryPoint }] of Object.entries(metafile.outputs)) {
    if (entryPoint === undefined && !path.endsWith('.svg')) continue
    const name = basename(path).replace(/-[A-Z0-9]{8}(?=\.\w+$)/, '')
    html = html.replace(`"${name}"`, `"/dashboard/assets/${basename(path)}"`)
  }
  writeFileSync(join(root, 'build/dashboard/index.html'), html)
  return Object.keys(metafile.inputs)
}
