/**
 * Recognises passwords that are guessed first. With twelve characters or more, these are common words with
 * digits, rows of keys, or short texts repeated. A list of them would be long and still miss `Password2027!`.
 */

const words = [
  'password',
  'passwort',
  'passw0rd',
  'p@ssword',
  'p@ssw0rd',
  'motdepasse',
  'contrasena',
  'contraseña',
  'admin',
  'administrator',
  'root',
  'letmein',
  'welcome',
  'willkommen',
  'qwerty',
  'qwertz',
  'azerty',
  'asdf',
  'zxcvbn',
  'iloveyou',
  'monkey',
  'dragon',
  'sunshine',
  'princess',
  'football',
  'baseball',
  'superman',
  'batman',
  'starwars',
  'trustno',
  'changeme',
  'default',
  'secret',
  'master',
  'login',
  'test',
  'guest',
  'user',
  'hello',
  'headgate',
  'gateway',
  'openai',
  'company',
  'summer',
  'winter',
  'spring',
  'autumn',
  'january',
  'february',
  'march',
  'april',
  'june',
  'july',
  'august',
  'september',
  'october',
  'november',
  'december'
]

const rows = [
  '01234567890123456789',
  'abcdefghijklmnopqrstuvwxyz',
  'qwertyuiopasdfghjklzxcvbnm',
  'qwertzuiopasdfghjklyxcvbnm',
  'azertyuiopqsdfghjklmwxcvbn',
  '1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik'
]

const backwards = rows.map(row => Array.from(row).toReversed().join(''))

/** Minimum characters that must remain of a password without its easily guessed parts. */
const minRest = 5

/** @param known texts related to the user: name, email */
export function isCommonPassword (password: string, known: readonly string[] = []): boolean {
  const text = password.toLowerCase()
  if (new Set(text).size < 5 || isRepeated(text)) return true
  const parts = [
    ...words,
    ...known.flatMap(name => name.toLowerCase().split(/[^\p{L}\p{N}]+/u)).filter(part => part.length >= 3)
  ]
  const rest = parts
    .toSorted((a, b) => b.length - a.length)
    .reduce((left, part) => left.replaceAll(part, ' '), withoutRows(text))
  return (
    rest.replace(/[\d\s\p{P}\p{S}]/gu, '').length < minRest && rest.replace(/\s/g, '').length < minRest + 3
  )
}

/** Returns whether a text repeats a shorter one. */
function isRepeated (text: string): boolean {
  for (let size = 1; size <= text.length / 2; size++) {
    if (text === text.slice(0, size).repeat(Math.ceil(text.length / size)).slice(0, text.length)) return true
  }
  return false
}

/**
 * Removes runs of four or more neighbours on a keyboard, in the alphabet or among digits, in either
 * direction.
 */
function withoutRows (text: string): string {
  const isRow = (piece: string): boolean =>
    rows.some(row => row.includes(piece)) || backwards.some(row => row.includes(piece))
  let rest = ''
  for (let at = 0; at < text.length;) {
    let size = 4
    if (!isRow(text.slice(at, at + size)) || at + size > text.length) {
      rest += text[at++]
      continue
    }
    while (at + size < text.length && isRow(text.slice(at, at + size + 1))) size++
    at += size
    rest += ' '
  }
  return rest
}
