"""What takes more than one line to see: lines compared, and what answers are like."""
