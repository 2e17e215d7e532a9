//! Every command of the README and the guide runs, and prints what they show.
