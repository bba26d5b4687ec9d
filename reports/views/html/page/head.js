// Before the first paint: the theme that was chosen last time, and the class by which the style sheet knows that scripts run.
document.documentElement.classList.add('js');
try {
  const theme = localStorage.getItem('flashproof-theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch { /* storage may be off for files */ }
