/** The versions of Node.js that can run the gateway. */

/** The lowest supported version of Node.js: `engines` of package.json, which Node.js does not enforce. */
export const minNodeVersion = '20.20.0'

/**
 * Exits with a message if this Node.js is too old, before anything is imported that an old version cannot
 * parse.
 */
export function requireNode (version: string = process.versions.node): void {
  if (isAtLeast(version, minNodeVersion)) return
  process.stderr.write(`headgate: Node.js ${minNodeVersion} or newer is required; this is ${version}.\n`)
  process.exit(1)
}

/** Compares number by number; comparing texts with numbers would load 6 ms of collation tables. */
function isAtLeast (version: string, wanted: string): boolean {
  const [have, need] = [version, wanted].map(text => text.split('.').map(Number))
  for (const [index, number] of need?.entries() ?? []) {
    const difference = (have?.[index] ?? 0) - number
    if (difference !== 0) return difference > 0
  }
  return true
}
