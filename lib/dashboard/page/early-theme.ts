/** Sets the chosen theme before the first paint; without a choice the page follows the system. */

const chosen = localStorage.getItem('theme')
if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen
